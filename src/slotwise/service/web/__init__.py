"""Web pages for people: templates, static files, and what all pages share. Each page is a route like any other."""
