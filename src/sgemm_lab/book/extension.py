"""What Sphinx loads: connects the parts of the book to the build."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from sphinx.application import Sphinx
from sphinx.config import Config

from sgemm_lab.book import (
    asset_bundle,
    assets,
    exercises,
    fonts,
    glossary,
    inline_values,
    ledger,
    links,
    mathml,
    origins,
    page_errors,
    page_head,
    page_kernels,
    panels,
    parallel_read,
    reader_cards,
    share_cards,
    stale_pages,
    stills,
    takeaways,
    workbench,
)
from sgemm_lab.book.collecting import Collector
from sgemm_lab.book.repository import site_address
from sgemm_lab.lab.listing import UncolouredCuda
from sgemm_lab.widgets.base import WIDGET_MIME

RENDERER = "sgemm-lab"


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the book's parts to Sphinx."""
    # Jupyter Book sets this even where the comments extension is left out.
    app.add_config_value("comments_config", {}, "html")
    app.add_config_value(stale_pages.INPUTS, "", "env")
    app.add_node(ledger.LedgerPlace)
    app.add_directive("ledger", ledger.LedgerDirective)
    app.add_directive("panel", panels.PanelDirective)
    app.add_directive("workbench", workbench.WorkbenchDirective)
    app.add_directive("reader-card", reader_cards.ReaderCardDirective)
    app.add_directive("symbols", glossary.SymbolsDirective)
    app.add_directive("constants", glossary.ConstantsDirective)
    app.add_directive_to_domain("std", "glossary", glossary.TermsDirective, override=True)
    app.add_role(inline_values.ROLE, inline_values.ValueRole())
    mathml.register(app)
    _add_exercises(app)
    app.add_env_collector(Collector)
    app.connect("config-inited", _configure)
    app.connect("builder-inited", fonts.clear_icons)
    app.connect("build-finished", stale_pages.forget_warnings)
    app.connect("env-updated", ledger.pages_with_ledger)
    app.connect("env-updated", glossary.pages_to_link_again)
    app.connect("doctree-resolved", ledger.fill)
    app.connect("doctree-resolved", glossary.link)
    app.connect("doctree-resolved", origins.gather)
    app.connect("doctree-resolved", takeaways.add_next)
    app.add_lexer("cuda", UncolouredCuda)
    app.connect("html-page-context", links.add_page_links)
    app.connect("html-page-context", page_head.add_changes)
    app.connect("html-page-context", panels.add_sheet)
    app.connect("html-page-context", page_head.add_head)
    # After all that adds to a page.
    app.connect("html-page-context", asset_bundle.lighten, priority=900)
    for write in (
        stills.fill,
        assets.write_assets,
        panels.write_files,
        workbench.write_files,
        reader_cards.write_scripts,
        links.publish_notebooks,
    ):
        _after_the_pages(app, write)
    # After the theme, which writes a sheet then.
    _after_the_pages(app, asset_bundle.write, priority=900)
    # After the sheet, which draws them.
    _after_the_pages(app, share_cards.write_cards, priority=950)
    parallel_read.run_side_by_side(app)
    page_kernels.prepare()
    page_errors.install()
    return {"version": version("sgemm-lab"), "parallel_read_safe": True}


def _after_the_pages(app: Sphinx, write: Callable[[Sphinx], None], priority: int = 500) -> None:
    """Call ``write`` once a build has ended well and has written pages."""

    def finished(app: Sphinx, error: Exception | None) -> None:
        if error is None and app.builder.format == "html":
            write(app)

    app.connect("build-finished", finished, priority=priority)


def _add_exercises(app: Sphinx) -> None:
    """Know the boxes that take an answer."""
    app.add_node(exercises.Box, html=(exercises.visit_box, exercises.depart_box))
    app.add_node(exercises.SolutionBox, html=(exercises.visit_solution, exercises.depart_solution))
    app.add_directive("exercise", exercises.ExerciseDirective)
    app.add_directive("predict", exercises.PredictDirective)
    app.add_directive("solution", exercises.SolutionDirective)
    app.connect("html-page-context", exercises.add_scripts)


def _configure(app: Sphinx, config: Config) -> None:
    """Point Sphinx at the files that travel inside this package."""
    # It numbers sections once all pages are read, and says nothing of processes that read them.
    if "sphinx_multitoc_numbering" in app.extensions:
        app.extensions["sphinx_multitoc_numbering"].parallel_read_safe = True
    config[stale_pages.INPUTS] = stale_pages.fingerprint()
    config.html_static_path.append(str(assets.ASSETS))
    config.templates_path.append(str(assets.TEMPLATES))
    config.html_css_files.extend(["book-theme.css", "book.css", "pictures.css", "widgets.css"])
    config.html_js_files.append(("book.js", {"defer": "defer"}))
    config.html_math_renderer = mathml.RENDERER
    config.html_baseurl = site_address()
    # The page for unknown addresses is shown under any of them.
    root = urlsplit(config.html_baseurl).path or "/"
    config.notfound_urls_prefix = root
    begin = f'There is no page at this address. Begin at the <a href="{root}">start page</a>.'
    body = f"<h1>Page not found</h1>\n<p>{begin}</p>"
    config.notfound_context = {"title": "Page not found", "body": body}
    config.nb_render_plugin = RENDERER
    # Any expression may stand in a sentence, not names alone.
    config.nb_eval_name_regex = ""
    config.nb_mime_priority_overrides = [
        ("html", WIDGET_MIME, 0),
        ("html", "image/svg+xml", 1),
    ]
