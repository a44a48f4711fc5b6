"""Makes the demo's PDF: `pip install reportlab && python make.py`. The text is ours; the output is reproducible."""

import pathlib

from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas

PAGES = [
    (
        "Rental terms of Marlow Boats",
        [
            "These terms apply to every boat rented from Marlow Boats, Pier 4, from March 2026 on.",
            "The deposit for a sailing boat is 300 euro and is returned when the boat is back clean.",
            "A rowing boat needs no deposit, but an identity card stays at the office.",
            "A boat that comes back late costs 25 euro for every hour begun.",
        ],
    ),
    (
        "Cancellation and damage",
        [
            "A booking can be cancelled free of charge up to 48 hours before it begins.",
            "After that, half of the price is due, unless the harbour master has closed the bay.",
            "Damage must be reported before leaving the pier. The number of these terms is MB-2026-0417.",
        ],
    ),
]


def main() -> None:
    path = pathlib.Path(__file__).parent / "rental-terms.pdf"
    page = canvas.Canvas(str(path), pagesize=A4, invariant=1)
    page.setTitle("Rental terms")
    page.setAuthor("Marlow Boats")
    for heading, lines in PAGES:
        page.bookmarkPage(heading)
        page.addOutlineEntry(heading, heading, 0)
        page.setFont("Helvetica-Bold", 16)
        page.drawString(72, 770, heading)
        page.setFont("Helvetica", 11)
        for row, line in enumerate(lines):
            page.drawString(72, 735 - 16 * row, line)
        page.showPage()
    page.save()


main()
