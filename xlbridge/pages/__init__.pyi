from .rendering import render_page as render_page
