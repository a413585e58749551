"""CTranslate2: a model's weights in its layout, and whole searches run by it. Only this room imports the package."""
