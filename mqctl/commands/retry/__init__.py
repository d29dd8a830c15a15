"""`mqctl retry`: what consumer groups will get again."""
