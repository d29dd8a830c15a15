"""Running playbooks and reporting on them."""
