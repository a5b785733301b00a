//! Six small collections with what a person would say belongs together.

use abide_organize::InputFile;

/// Files with the group that each belongs to; none if to no group.
pub(crate) struct Labelled {
    pub(crate) name: &'static str,
    pub(crate) files: Vec<(InputFile, Option<&'static str>)>,
}

pub(crate) fn all() -> Vec<Labelled> {
    vec![correspondence(), numbered_pages(), mixed_years(), photographs(), two_languages(), noise()]
}

const WEBER: [&str; 6] = [
    "the turbine of the upper mill was delivered without its bearings, and the millwright cannot begin",
    "I have paid the foundry for the new turbine wheel; the mill stands still until the shaft is straight",
    "the weir above the mill must be repaired before the frost, or the turbine will run dry",
    "grain prices fall, yet the mill ground forty sacks yesterday with the old turbine",
    "your drawing of the turbine housing arrived; the millwright asks for thicker bolts on the shaft",
    "the insurance on the mill lapses in May, and the foundry wants its instalment for the wheel",
];
const ROSA: [&str; 6] = [
    "mother is better, the fever has left her and the children play in the garden again",
    "little Paul lost a tooth and the children ask when you come for the christening",
    "the garden is full of roses; mother sits there in the evening and speaks of you",
    "Paul started school, and the children have whooping cough, but the fever is mild",
    "we baked for the christening all day, mother gave the godfather her silver spoon",
    "the children made you a wreath from the garden, mother pressed the roses in a book",
];
const KLEIN: [&str; 6] = [
    "the deed of the estate is signed, the notary fee and the stamp duty are due",
    "the heirs dispute the boundary of the estate, so the court asks for the survey",
    "enclosed is the mortgage on the estate; the creditor agrees to four per cent",
    "the court has set a hearing on the will, and the heirs must appear with the deed",
    "the survey confirms the boundary stones; the notary will enter it in the register",
    "the creditor cancels the mortgage, and the court releases the deed to the heirs",
];

fn correspondence() -> Labelled {
    let mut files = Vec::new();
    let writers = [("Weber", WEBER, 1891), ("Rosa", ROSA, 1893), ("Klein", KLEIN, 1890)];
    for n in 0..6 {
        for (place, (who, lines, year)) in writers.iter().enumerate() {
            let number = n * 3 + place + 1;
            let text = format!(
                "{} March {}\n\nDear {who},\n\n{}. I will write again before the month is over.\n\nYours faithfully,\nA. Martin",
                number + 2,
                year + n,
                lines[n]
            );
            files.push((InputFile::text(format!("letter_{number:03}.txt"), text), Some(*who)));
        }
    }
    Labelled { name: "correspondence", files }
}

fn numbered_pages() -> Labelled {
    let mut files = Vec::new();
    for (title, label, count) in [
        ("Ledger A p", "ledger", 9),
        ("minute-book_", "minutes", 12),
        ("Atlas of the county plate ", "atlas", 7),
    ] {
        for n in 1..=count {
            let text = if n % 3 == 0 { "carried forward 12 10 6" } else { "" };
            files.push((InputFile::text(format!("{title}{n:03}.jpg.ref.json"), text), Some(label)));
        }
    }
    files.push((InputFile::text("README.txt", "Scanned in spring."), None));
    Labelled { name: "numbered pages", files }
}

fn mixed_years() -> Labelled {
    let mut files = Vec::new();
    for (year, label) in [(1885, "1885"), (1886, "1886"), (1887, "1887"), (1890, "1890")] {
        for month in [1, 3, 4, 7, 11] {
            let text = format!("Received with thanks the sum of {} marks. Settled.", month * 7 + year % 9);
            files.push((InputFile::text(format!("receipt {year}-{month:02}-15.txt"), text), Some(label)));
        }
    }
    Labelled { name: "mixed years", files }
}

fn photographs() -> Labelled {
    let events: [(&str, [&str; 5]); 4] = [
        (
            "harvest",
            [
                "Harvest festival, the wagon with sheaves before the barn",
                "Reapers with scythes at the harvest, the wagon behind them",
                "The harvest crown is carried to the barn",
                "Children on the hay wagon, harvest festival",
                "Dance in the barn after the harvest",
            ],
        ),
        (
            "wedding",
            [
                "Bride and groom before the church, wedding of Anna",
                "The wedding guests at the long table",
                "Anna the bride with her bridesmaids",
                "Wedding carriage leaving the church",
                "The groom's toast at the wedding table",
            ],
        ),
        (
            "flood",
            [
                "The flood in the lower town, boats in the market street",
                "Flood water at the bridge, sandbags along the embankment",
                "Soldiers with boats rescue people from the flood",
                "The broken bridge after the flood",
                "Market street under flood water, boats at the doors",
            ],
        ),
        (
            "railway",
            [
                "Opening of the railway, the locomotive decorated with flags",
                "The first train arrives at the new railway station",
                "Railway workers lay track beside the station",
                "Engine driver and stoker on the locomotive",
                "Station master and train crew on the platform of the railway",
            ],
        ),
    ];
    let mut files = Vec::new();
    let mut number = 0;
    for shot in 0..5 {
        for (label, notes) in &events {
            number += 1;
            files.push((InputFile::text(format!("IMG_{number:04}.jpg.ref.json"), ""), Some(*label)));
            files.push((InputFile::text(format!("IMG_{number:04}.txt"), notes[shot]), Some(*label)));
        }
    }
    Labelled { name: "photographs with sidecars", files }
}

fn two_languages() -> Labelled {
    let parts: [(&str, [&str; 5]); 4] = [
        (
            "school",
            [
                "Der Schüler zeigt Fleiß im Rechnen, das Zeugnis lobt seine Handschrift, der Lehrer wünscht mehr Aufmerksamkeit.",
                "Zeugnis der Volksschule: Lesen gut, Rechnen genügend, Betragen lobenswert. Der Lehrer empfiehlt Versetzung.",
                "Der Lehrer tadelt das Betragen des Schülers, doch im Rechnen und Lesen ist das Zeugnis besser geworden.",
                "Die Schule meldet, dass der Schüler im Lesen zurückbleibt; der Lehrer bittet die Eltern um Übung im Rechnen.",
                "Abgangszeugnis der Schule: Fleiß gut, Handschrift gut, Rechnen sehr gut, unterschrieben vom Lehrer.",
            ],
        ),
        (
            "kitchen",
            [
                "Man nehme ein Pfund Mehl, sechs Eier und Butter, rühre den Teig und backe ihn bei mäßiger Hitze.",
                "Für die Suppe koche man das Fleisch mit Wurzeln, dann gebe man Mehl und Butter hinzu.",
                "Der Teig aus Mehl, Hefe und Milch muss gehen, ehe man ihn mit Butter bestreicht und backt.",
                "Eier und Zucker schaumig rühren, Mehl darüber sieben, den Teig in die Form geben und backen.",
                "Zum Braten gehört eine Sauce aus Butter, Mehl und Fleischbrühe; man rühre sie langsam.",
            ],
        ),
        (
            "voyage",
            [
                "Wind from the south-west, the ship under full sail, latitude forty degrees; two sailors on watch reported ice.",
                "The captain ordered the sails reefed; heavy sea over the bow, the ship's carpenter repaired the pumps.",
                "At anchor in the bay; the sailors took water aboard and the captain read the orders to the crew.",
                "Latitude thirty-eight, calm sea, sails slack; the crew scraped the deck of the ship under the mate's watch.",
                "A gale broke the mast; the captain and the carpenter rigged a jury sail while the crew worked the pumps.",
            ],
        ),
        (
            "sermon",
            [
                "On the text from Matthew the vicar preached of charity, and the congregation sang the old hundredth psalm.",
                "Advent sermon: the vicar spoke of patience, of the prophets and of grace, from the gospel of Luke.",
                "The congregation prayed for the sick; the sermon on grace followed the reading from the prophets.",
                "Harvest thanksgiving, psalm and gospel, and a sermon on charity to the poor of the parish.",
                "The vicar's farewell sermon to his congregation, on faith and grace, with a psalm between.",
            ],
        ),
    ];
    let mut files = Vec::new();
    for n in 0..5 {
        for (label, texts) in &parts {
            let name =
                format!("scan{:02}{}.txt", n * 4 + files.len() % 4, ["a", "b", "c", "d"][files.len() % 4]);
            files.push((InputFile::text(name, texts[n]), Some(*label)));
        }
    }
    Labelled { name: "two languages", files }
}

fn noise() -> Labelled {
    let texts = [
        ("Umbrella.txt", "Lost on a tram, black handle, reward offered."),
        ("k77 final.md", "Quartz resonates when an alternating voltage meets its facets."),
        ("Untitled.txt", "Seven cormorants nested beneath the lighthouse balcony."),
        ("todo.txt", "Buy nails, varnish, sandpaper."),
        ("gamma.csv", "altitude;pressure\n1200;871"),
        ("old notes.txt", "Chess opening ideas against the Caro-Kann defence."),
        ("ticket.pdf.ref.json", "Opera box, row two, Thursday evening."),
        ("x9.txt", "Bacteria divide roughly every twenty minutes in broth."),
        ("menu.txt", "Lentils with dill and a slice of rye."),
        ("Paragraph.txt", "Tenants shall clear snow from pavements by eight."),
        ("beta draft.md", "The protagonist forgets her own surname on purpose."),
        ("fragment.txt", "Volcanic ash drifted over the archipelago."),
    ];
    let files = texts.into_iter().map(|(name, text)| (InputFile::text(name, text), None)).collect();
    Labelled { name: "noise", files }
}
