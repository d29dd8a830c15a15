"""What the threads of a consumer do: dumps read, classified, compared, grouped. Pure: text in, values out."""
