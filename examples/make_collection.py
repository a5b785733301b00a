#!/usr/bin/env python3
"""Draws and writes the collection in examples/collection: everything in it is invented.

Needs Pillow and the DejaVu fonts (Debian: python3-pil, fonts-dejavu-core). The same run gives the same files:

    python3 examples/make_collection.py
"""

import math
import pathlib
import random

from PIL import Image, ImageDraw, ImageFilter, ImageFont

HERE = pathlib.Path(__file__).parent / "collection"
SERIF = "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf"

# (file, who, where and when, to whom, body)
LETTERS = [
    ("hartmann_1885-03-12", "Elise Hartmann", "Lindau, 12 March 1885", "Dear Mr Ashby",
     "Your seeds arrived in good order. I have sown the blue lupins along the south wall of the nursery and keep the "
     "alpine poppies under glass. Frost took half of the orchids in February, and the heating of the glasshouse wants repair. "
     "Please send the catalogue of the spring auction."),
    ("hartmann_1886-09-02", "Elise Hartmann", "Lindau, 2 September 1886", "Dear Mr Ashby",
     "The lupins have taken to our soil. Visitors to the nursery ask for nothing else, and the orchids in the new "
     "glasshouse flower a second time. I send you forty bulbs by the Constance steamer and ask for seeds of the white poppy."),
    ("hartmann_1888-05-20", "Elise Hartmann", "Lindau, 20 May 1888", "Dear Mr Ashby",
     "A plant hunter brought me three orchids from Darjeeling, and one of them is surely new. I have pressed a leaf for your "
     "herbarium. The nursery has doubled, and the glasshouse is full of seedlings for the exhibition."),
    ("hartmann_1891-01-15", "Elise Hartmann", "Lindau, 15 January 1891", "Dear Mr Ashby",
     "We lost the small glasshouse to the snow. The seedlings were saved in the kitchen, and the orchids in the parlour. I "
     "shall need glass, putty and patience; the seeds you promised would be a comfort to the whole nursery."),
    ("okafor_1887-06-30", "Samuel Okafor", "Liverpool, 30 June 1887", "My dear Ashby",
     "The steamer Calabar reached the Mersey on Tuesday with a cracked shaft. The engineers will want three weeks in dock, "
     "and the cargo of palm oil must be lightered to the warehouse. The insurers ask for the log and the captain's protest."),
    ("okafor_1887-08-11", "Samuel Okafor", "Liverpool, 11 August 1887", "My dear Ashby",
     "The new shaft is in, and the Calabar steamed her trial with ten knots. The insurers pay two thirds of the dock. Captain "
     "Reid keeps his command; the cargo of palm oil sold better than we feared."),
    ("okafor_1889-02-04", "Samuel Okafor", "Liverpool, 4 February 1889", "My dear Ashby",
     "Freights are low, and two steamers of the line lie idle in dock. I advise to insure the cargo of the Calabar at Lloyd's "
     "and to send her to Lagos in ballast rather than to wait. Captain Reid agrees."),
    ("okafor_1890-11-19", "Samuel Okafor", "Liverpool, 19 November 1890", "My dear Ashby",
     "The Calabar is sold to the Elder line, with boilers, cargo gear and Captain Reid. After the dock dues and the insurers "
     "there remain four hundred pounds for you. I shall miss the sound of her engines."),
    ("brandt_1886-04-08", "Wilhelm Brandt", "Leipzig, den 8. April 1886", "Hochgeehrter Herr Ashby",
     "die ersten Bogen Ihres Buches sind gesetzt. Der Drucker bittet um die Korrektur bis zum Monatsende. Die Kupferstiche "
     "der Pflanzen sind dunkel ausgefallen; der Stecher will die Platten noch einmal ätzen. Das Papier für die Auflage ist bestellt."),
    ("brandt_1886-12-01", "Wilhelm Brandt", "Leipzig, den 1. Dezember 1886", "Hochgeehrter Herr Ashby",
     "Ihr Buch ist erschienen. Die Auflage von achthundert Exemplaren ist zur Hälfte verkauft, und der Verlag denkt an einen "
     "zweiten Druck. Die Kupferstiche werden gelobt, das Papier leider nicht. Das Honorar folgt nach der Messe."),
    ("brandt_1892-03-23", "Wilhelm Brandt", "Leipzig, den 23. März 1892", "Hochgeehrter Herr Ashby",
     "der Verlag bereitet die zweite Auflage Ihres Buches vor. Der Drucker hat neue Lettern, und die Kupferstiche werden "
     "durch Lichtdruck ersetzt. Wir bitten um die Korrektur der Bogen und um ein Vorwort, bevor das Papier teurer wird."),
]
# Letters that are there as scans only.
SCANNED = {"hartmann_1888-05-20", "okafor_1889-02-04", "brandt_1892-03-23"}

PHOTOGRAPHS = [
    ("harbour_1887.jpg", "The steamer Calabar in dock, Liverpool 1887"),
    ("glasshouse_1890.jpg", "The large glasshouse at Lindau, 1890"),
    ("orchard_1893.jpg", "The orchard in spring, 1893"),
]

INVENTORY = [
    "Inventory of the papers of Thomas Ashby",
    "Drawn up in 1894",
    "",
    "1. Letters of Elise Hartmann, nursery at Lindau, 1885 to 1891.",
    "2. Letters of Samuel Okafor, Liverpool, about the steamer Calabar, 1887 to 1890.",
    "3. Letters of Wilhelm Brandt, Leipzig, about the printing of the book, 1886 to 1892.",
    "4. Three photographs, mounted.",
    "5. A diary of plants, kept by Thomas Ashby in 1893.",
]

DIARY = [
    ("diary_page_01.txt", "3 April 1893. Pruned the pear trees. Rain at noon, eleven degrees at six."),
    ("diary_page_02.txt", "9 April 1893. The first pear blossom. Counted forty bees in a quarter of an hour."),
    ("diary_page_03.txt", "21 April 1893. Night frost, two degrees below. Covered the pear trees with sailcloth."),
    ("diary_page_04.txt", "2 May 1893. The blossom is over; the bees have moved to the clover."),
]


def text_of(letter):
    _, who, where, to, body = letter
    return f"{where}\n\n{to},\n\n{body}\n\n{who}\n"


def wrapped(draw, text, font, width):
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if draw.textlength(longer, font=font) > width and line:
            yield line
            line = word
        else:
            line = longer
    yield line


def scan(letter):
    """A page as a scanner sees it: ink on paper, two tones."""
    random.seed(letter[0])
    page = Image.new("L", (1000, 1100), 255)
    draw = ImageDraw.Draw(page)
    font = ImageFont.truetype(SERIF, 27)
    y = 70
    for paragraph in text_of(letter).split("\n\n"):
        for line in wrapped(draw, paragraph, font, 840):
            draw.text((80, y), line, font=font, fill=0)
            y += 42
        y += 26
    for _ in range(120):
        x, y = random.randrange(1000), random.randrange(1100)
        draw.point((x, y), fill=0)
    return page.rotate(random.uniform(-0.25, 0.25), fillcolor=255, resample=Image.BICUBIC).point(lambda v: 255 * (v > 140), "1")


def photograph(name):
    """Something like an old print: sky, ground and one subject, in sepia with grain."""
    random.seed(name)
    width, height = 900, 640
    image = Image.new("L", (width, height))
    draw = ImageDraw.Draw(image)
    for y in range(height):
        draw.line((0, y, width, y), fill=int(225 - 90 * y / height))
    if name.startswith("harbour"):
        draw.rectangle((0, 430, width, height), fill=95)
        draw.polygon([(180, 400), (720, 400), (660, 470), (240, 470)], fill=40)
        draw.rectangle((420, 270, 480, 400), fill=55)
        for x in (300, 600):
            draw.line((x, 170, x, 400), fill=50, width=6)
        for x in range(0, width, 14):
            y = 500 + 12 * math.sin(x / 37) + random.randrange(110)
            draw.line((x, y, x + 26, y), fill=130, width=2)
    elif name.startswith("glasshouse"):
        draw.rectangle((0, 470, width, height), fill=110)
        draw.polygon([(150, 470), (150, 290), (450, 150), (750, 290), (750, 470)], fill=200)
        for x in range(150, 751, 50):
            draw.line((x, 290 - 140 * (1 - abs(x - 450) / 300), x, 470), fill=70, width=3)
        for y in (290, 380, 470):
            draw.line((150, y, 750, y), fill=70, width=3)
    else:
        draw.rectangle((0, 420, width, height), fill=120)
        for x in range(110, width, 170):
            draw.rectangle((x - 9, 360, x + 9, 500), fill=45)
            for _ in range(160):
                a, r = random.uniform(0, 7), 85 * math.sqrt(random.random())
                cx, cy = x + r * math.cos(a), 310 + 0.8 * r * math.sin(a)
                draw.ellipse((cx - 8, cy - 8, cx + 8, cy + 8), fill=random.randrange(150, 245))
    grain = Image.effect_noise((width, height), 18)
    image = Image.blend(image.filter(ImageFilter.GaussianBlur(1.4)), grain, 0.12)
    return Image.merge("RGB", [image.point(lambda v, k=k: min(255, int(v * k))) for k in (1.0, 0.88, 0.68)])


def pdf(lines):
    """A page of text, written by hand: small, and the same each time."""
    escaped = [line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)") for line in lines]
    stream = "BT /F1 12 Tf 18 TL 60 780 Td " + " ".join(f"({line}) Tj T*" for line in escaped) + " ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman >>",
    ]
    out, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    out += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{out.index('xref')}\n%%EOF\n"
    return out.encode("ascii")


def main():
    for folder in ("letters", "photographs", "diary"):
        (HERE / folder).mkdir(parents=True, exist_ok=True)
    for letter in LETTERS:
        if letter[0] in SCANNED:
            scan(letter).save(HERE / "letters" / f"{letter[0]}.tif", compression="group4", dpi=(150, 150))
        else:
            (HERE / "letters" / f"{letter[0]}.txt").write_text(text_of(letter), encoding="utf-8")
    for name, caption in PHOTOGRAPHS:
        photograph(name).save(HERE / "photographs" / name, quality=80)
        (HERE / "photographs" / name.replace(".jpg", ".txt")).write_text(caption + ".\n", encoding="utf-8")
    for name, text in DIARY:
        (HERE / "diary" / name).write_text(text + "\n", encoding="utf-8")
    (HERE / "inventory.pdf").write_bytes(pdf(INVENTORY))


if __name__ == "__main__":
    main()
