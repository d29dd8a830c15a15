"""`mqctl offset`: change where a consumer group stands, and take it back."""
