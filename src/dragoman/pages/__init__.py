"""Pages that need nothing else: elements of HTML, charts as SVG, and the one frame and style that all pages share."""
