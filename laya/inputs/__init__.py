"""What a person hands in, checked: pictures and archives."""
