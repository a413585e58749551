"""Looking inside a model: each probe is a function that returns a frozen result; `views` draw results."""
