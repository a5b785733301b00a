//! Summaries without a model, in several languages.

use abide_llm::extract::{Extract, Language, Length, summarize};

const ENGLISH: &str = "The lighthouse at Cape Morn was built in 1871 to guide ships past the reef. Home | About | Contact\n\
    Keepers of the lighthouse lived beside the tower until the lamp was automated. Dr. Ellen Ward, who studies the reef, \
    says that the lighthouse still saves ships every winter. Click here\nThe museum shop sells postcards and warm socks. \
    Ships that miss the light can strike the reef within minutes. The lighthouse lamp turns once every nine seconds.";
const GERMAN: &str = "Der Leuchtturm am Kap wurde 1871 gebaut, um Schiffe am Riff vorbei zu führen. Die Wärter des \
    Leuchtturms wohnten neben dem Turm, bis die Lampe z. B. durch eine Automatik ersetzt wurde. Das Museum verkauft \
    Postkarten und warme Socken. Schiffe, die das Licht des Leuchtturms verfehlen, können am Riff zerbrechen.";
const FRENCH: &str = "Le phare du cap fut construit en 1871 pour guider les navires au large du récif. Les gardiens du \
    phare vivaient près de la tour avant que la lampe ne soit automatisée. Le musée vend des cartes postales et des \
    chaussettes. Les navires qui ne voient pas le phare peuvent heurter le récif en quelques minutes.";

fn check(title: &str, text: &str, language: Language, keyword: &str) -> String {
    let Extract { summary, keywords, language: found } = summarize(title, text, Length::SHORT);
    assert_eq!(found, language);
    assert_eq!(keywords[0], keyword, "{keywords:?}");
    let summary = summary.unwrap();
    assert!(summary.chars().count() <= 600);
    summary
}

#[test]
fn the_sentences_that_matter_are_kept_word_for_word_and_in_order() {
    let summary = check("The lighthouse of Cape Morn", ENGLISH, Language::English, "lighthouse");
    assert!(summary.starts_with("The lighthouse at Cape Morn was built in 1871"), "{summary}");
    for scrap in ["Home |", "Click here", "socks"] {
        assert!(!summary.contains(scrap), "{summary}");
    }
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (all, chosen) = (words(ENGLISH).join(" "), summary.clone());
    let mut from = 0;
    for sentence in chosen.split_inclusive(". ") {
        let at = all[from..].find(sentence.trim()).unwrap_or_else(|| panic!("{sentence:?} is made up"));
        from += at + sentence.trim().len();
    }
}

#[test]
fn german_and_french_are_summarized_in_german_and_french() {
    let german = check("Der Leuchtturm am Kap", GERMAN, Language::German, "leuchtturm");
    assert!(german.starts_with("Der Leuchtturm am Kap") && !german.contains("Socken"), "{german}");
    let french = check("Le phare du cap", FRENCH, Language::French, "phare");
    assert!(french.starts_with("Le phare du cap") && !french.contains("chaussettes"), "{french}");
}

#[test]
fn sentences_are_not_torn_apart_behind_abbreviations() {
    let text = "Dr. Ellen Ward of the U.S. survey met Mr. J. Smith near the northern harbour in spring.";
    assert_eq!(summarize("", text, Length::SHORT).summary.as_deref(), Some(text));
}

#[test]
fn sentences_are_not_torn_apart_within_addresses_and_formulas() {
    for text in [
        "Every keeper of the lighthouse is listed at https://example.org/find?year=1871&place=morn with a portrait.",
        "In most languages the operator a != b compares two values and tells whether they differ.",
        "Is the lamp of the lighthouse still turning?! Nobody among the keepers of the tower could tell.",
    ] {
        assert_eq!(summarize("", text, Length::SHORT).summary.as_deref(), Some(text));
    }
    let lost =
        "The lighthouse lamp still turns at night, does it not?The keepers sell postcards of warm socks.";
    let summary = summarize("", lost, Length::SHORT).summary.unwrap();
    assert!(summary.contains("not? The keepers"), "a space that got lost: {summary}");
}

#[test]
fn a_text_without_a_sentence_has_no_summary() {
    for text in ["", "Home\nAbout us\nContact", "menu menu menu menu menu menu", "too short."] {
        assert_eq!(summarize("Home", text, Length::SHORT).summary, None, "{text:?}");
    }
}

#[test]
fn lists_and_sentences_of_common_words_are_summarized_too() {
    let list = "Boil the water in a large pot\nAdd the pasta and the salt\nDrain after nine minutes\n\
                Serve with tomato sauce and basil\nEnjoy with friends and family";
    let summary = summarize("Pasta", list, Length::SHORT).summary.unwrap();
    let items: Vec<&str> = summary.split("; ").collect();
    assert_eq!(items.len(), 3, "{summary}");
    assert!(items.iter().all(|item| list.lines().any(|line| line == *item)), "word for word: {summary}");
    let common = "This is the one that we had been at before. It was not what they were to do with it. \
                  You are what you have been and will be again. There is no more of this than that.";
    let summary = summarize("", common, Length::SHORT).summary.unwrap();
    assert!(summary.split_inclusive(". ").all(|sentence| common.contains(sentence.trim())), "{summary}");
    let once = "Some words on this page that are many enough to be read by somebody.";
    assert_eq!(summarize("", &format!("{once} ").repeat(4), Length::SHORT).summary.as_deref(), Some(once));
    let long = "word ".repeat(20_000);
    assert_eq!(summarize("", &long, Length::SHORT).summary, None);
}

#[test]
fn the_same_sentence_twice_is_said_once_and_long_texts_stay_bounded() {
    let text = format!("{ENGLISH}\n{ENGLISH}\n").repeat(200);
    let once = summarize("The lighthouse", ENGLISH, Length::SHORT).summary;
    assert_eq!(summarize("The lighthouse", &text, Length::SHORT).summary, once);
}

#[test]
fn languages_without_spaces_between_words_are_summarized_too() {
    let japanese =
        "石の橋は川を渡る人々のために造られた。橋の石は山から運ばれた。川の水は春になると高くなる。";
    let chinese = "这座石桥是为过河的人修建的。桥上的石头来自山里。春天河水会上涨。";
    let thai = "สะพานหินสร้างขึ้นเพื่อให้ผู้คนข้ามแม่น้ำได้อย่างปลอดภัย หินของสะพานถูกนำมาจากภูเขาใกล้หมู่บ้าน \
                น้ำในแม่น้ำจะสูงขึ้นในฤดูใบไม้ผลิ";
    for text in [japanese, chinese, thai] {
        let found = summarize("", text, Length::SHORT).summary.expect("a summary");
        assert!(found.split([' ', '。']).all(|part| text.contains(part)), "word for word: {found}");
    }
}
