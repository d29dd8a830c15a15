"""The terminal: screen, keyboard, progress, interrupts, confirmation."""
