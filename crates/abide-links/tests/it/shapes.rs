//! Pages of many shapes, each with an article that is known: what is read must be that article.

use crate::prose::{paragraph, paragraphs, token_f1};
use abide_links::page::{self, Outcome};
use url::Url;

/// A page and the text that is to be found in it.
struct Shape {
    name: &'static str,
    html: String,
    expected: String,
}

const MENU: &str = "<ul><li><a href='/'>Home</a></li><li><a href='/news'>News</a></li><li><a href='/shop'>Shop</a></li>\
    <li><a href='/jobs'>Careers</a></li><li><a href='/login'>Log in</a></li></ul>";
const FOOT: &str = "<p>Copyright 2026 Example Media. All rights reserved. <a href='/terms'>Terms</a> \
    <a href='/privacy'>Privacy</a> <a href='/imprint'>Imprint</a></p>";
const COOKIES: &str = "<div class='cookie-banner'><p>We use cookies to improve your experience.</p>\
    <button>Accept all</button><button>Reject</button></div>";

fn page(title: &str, body: &str) -> String {
    format!("<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>")
}

fn ps(paragraphs: &[String]) -> String {
    paragraphs.iter().map(|text| format!("<p>{text}</p>")).collect()
}

fn teasers(count: usize) -> String {
    let one = |n: usize| format!("<li><a href='/t/{n}'>Ten surprising offers of the week, part {n}</a></li>");
    format!("<ul>{}</ul>", (0..count).map(one).collect::<String>())
}

/// A shape whose article is `count` paragraphs; `body` puts them in a page.
fn shape(name: &'static str, seed: usize, count: usize, body: impl Fn(&[String]) -> String) -> Shape {
    let texts = paragraphs(seed, count);
    Shape { name, html: page("An article of some length", &body(&texts)), expected: texts.join("\n") }
}

fn semantic() -> Vec<Shape> {
    vec![
        shape("article tag", 1, 6, |t| {
            format!("<header>{MENU}</header><article>{}</article><footer>{FOOT}</footer>", ps(t))
        }),
        shape("main tag", 2, 6, |t| {
            format!("<nav>{MENU}</nav><main>{}</main><footer>{FOOT}</footer>", ps(t))
        }),
        shape("role main", 3, 6, |t| {
            format!("<div role='navigation'>{MENU}</div><div role='main'>{}</div>{FOOT}", ps(t))
        }),
        shape("sections", 4, 6, |t| {
            let sections: String = t.iter().map(|text| format!("<section><p>{text}</p></section>")).collect();
            format!("<nav>{MENU}</nav><article>{sections}</article><footer>{FOOT}</footer>")
        }),
        shape("microdata", 5, 5, |t| {
            format!(
                "<div itemscope itemtype='https://schema.org/Article'><div itemprop='articleBody'>{}</div></div>{FOOT}",
                ps(t)
            )
        }),
        shape("aside with teasers", 6, 6, |t| {
            format!("<nav>{MENU}</nav><article>{}</article><aside>{}</aside>", ps(t), teasers(12))
        }),
        shape("article among teasers", 7, 7, |t| {
            let teaser = "<article class='teaser'><a href='/x'>Offer of the day</a></article>".repeat(5);
            format!("<main><article>{}</article>{teaser}</main>", ps(t))
        }),
        shape("cookie banner", 8, 6, |t| {
            format!("{COOKIES}<article>{}</article><footer>{FOOT}</footer>", ps(t))
        }),
    ]
}

fn generic() -> Vec<Shape> {
    vec![
        shape("div content", 11, 6, |t| {
            format!(
                "<div id='nav'>{MENU}</div><div id='content'>{}</div><div id='footer'>{FOOT}</div>",
                ps(t)
            )
        }),
        shape("nested divs", 12, 6, |t| {
            format!("<div><div>{MENU}</div><div><div class='inner'><div>{}</div></div></div></div>", ps(t))
        }),
        shape("nothing around", 13, 5, ps),
        shape("long page", 14, 30, |t| {
            format!("<div class='menu'>{MENU}</div><div class='post'>{}</div>{FOOT}", ps(t))
        }),
        shape("short page", 15, 2, |t| {
            format!("<div class='menu'>{MENU}</div><div class='post'>{}</div>", ps(t))
        }),
        shape("one paragraph", 16, 1, |t| format!("<article>{}</article>", ps(t))),
        shape("line breaks", 17, 6, |t| {
            format!("<div id='nav'>{MENU}</div><div class='entry'>{}</div>", t.join("<br><br>"))
        }),
        shape("divs for paragraphs", 18, 6, |t| {
            let divs: String = t.iter().map(|text| format!("<div>{text}</div>")).collect();
            format!(
                "<div id='nav'>{MENU}</div><div class='entry-content'>{divs}</div><div id='footer'>{FOOT}</div>"
            )
        }),
        shape("spans in paragraphs", 19, 5, |t| {
            let spans: String = t.iter().map(|text| format!("<p><span><em>{text}</em></span></p>")).collect();
            format!("<div class='body'>{spans}</div>")
        }),
        shape("sidebar", 20, 6, |t| {
            format!(
                "<div class='wrap'><div class='sidebar'>{}</div><div class='article-body'>{}</div></div>",
                teasers(15),
                ps(t)
            )
        }),
        shape("comments below", 21, 7, |t| {
            let comment =
                |n: usize| format!("<div class='comment'><b>user{n}</b><p>Nice one, thanks!</p></div>");
            let comments: String = (0..8).map(comment).collect();
            format!("<div class='post'>{}</div><div id='comments'>{comments}</div>", ps(t))
        }),
        shape("share buttons", 22, 6, |t| {
            let share = "<div class='share-buttons'><a href='#'>Tweet</a><a href='#'>Mail</a><a href='#'>Pin</a></div>";
            format!("<article>{share}{}{share}</article>", ps(t))
        }),
    ]
}

fn old_and_odd() -> Vec<Shape> {
    vec![
        shape("table layout", 31, 6, |t| {
            format!("<table><tr><td width=150>{MENU}</td><td>{}</td></tr></table>", ps(t))
        }),
        shape("fonts and centers", 32, 5, |t| {
            let fonts: String =
                t.iter().map(|text| format!("<p><font face='Times'>{text}</font></p>")).collect();
            format!("<center>{MENU}</center><div>{fonts}</div>")
        }),
        shape("unclosed paragraphs", 33, 6, |t| format!("<div class=text><p>{}</div>", t.join("<p>"))),
        shape("upper case tags", 34, 5, |t| {
            let upper: String = t.iter().map(|text| format!("<P>{text}</P>")).collect();
            format!("<DIV ID=MAIN>{upper}</DIV>")
        }),
        shape("inline advertisements", 35, 8, |t| {
            let ad = "<div class='ad-slot'><a href='/ad'>Advertisement</a></div>";
            format!(
                "<article>{}</article>",
                t.iter().map(|text| format!("<p>{text}</p>{ad}")).collect::<String>()
            )
        }),
        shape("scripts between", 36, 6, |t| {
            let script = "<script>var track = 'a long string of words that is no text at all';</script><style>p{color:red}</style>";
            format!(
                "<article>{}</article>",
                t.iter().map(|text| format!("<p>{text}</p>{script}")).collect::<String>()
            )
        }),
        shape("links in the text", 37, 6, |t| {
            let linked =
                |text: &String| format!("<p>{}</p>", text.replacen("people", "<a href='/p'>people</a>", 1));
            format!("<article>{}</article>", t.iter().map(linked).collect::<String>())
        }),
        shape("hidden text", 38, 6, |t| {
            format!(
                "<article>{}<p style='display:none'>Buy cheap watches now in our shop.</p></article>",
                ps(t)
            )
        }),
        shape("entities", 39, 5, |t| {
            let escaped =
                |text: &String| format!("<p>{}</p>", text.replace(", ", "&#44; ").replace(' ', "&#32;"));
            format!("<article>{}</article>", t.iter().map(escaped).collect::<String>())
        }),
        shape("newsletter form inside", 40, 6, |t| {
            let form = "<form><label>Your e-mail</label><input><button>Subscribe</button></form>";
            format!("<article>{}{form}{}</article>", ps(&t[..3]), ps(&t[3..]))
        }),
    ]
}

fn structured() -> Vec<Shape> {
    let mut shapes = vec![
        shape("quotes", 51, 6, |t| {
            format!(
                "<article>{}<blockquote><p>{}</p></blockquote>{}</article>",
                ps(&t[..3]),
                t[3],
                ps(&t[4..])
            )
        }),
        shape("lists in the text", 52, 6, |t| {
            let items: String = t[2..4].iter().map(|text| format!("<li>{text}</li>")).collect();
            format!("<article>{}<ul>{items}</ul>{}</article>", ps(&t[..2]), ps(&t[4..]))
        }),
        shape("figures", 53, 6, |t| {
            let figure = "<figure><img src='/a.jpg' alt=''></figure>";
            format!("<article>{}{figure}{}</article>", ps(&t[..3]), ps(&t[3..]))
        }),
        shape("author box", 54, 7, |t| {
            let author = "<div class='author-box'><a href='/u'>Follow</a></div>";
            format!("<article>{}</article>{author}", ps(t))
        }),
        shape("breadcrumbs and tags", 55, 6, |t| {
            let crumbs = "<div class='breadcrumbs'><a href='/'>Start</a> &gt; <a href='/a'>Travel</a></div>";
            let tags = "<div class='tags'><a href='/t/1'>one</a> <a href='/t/2'>two</a></div>";
            format!("{crumbs}<article>{}</article>{tags}", ps(t))
        }),
        shape("pagination", 56, 6, |t| {
            let pages = "<div class='pagination'><a href='?p=1'>1</a> <a href='?p=2'>2</a> <a href='?p=3'>Next</a></div>";
            format!("<div class='content'>{}</div>{pages}", ps(t))
        }),
    ];
    let headed = paragraphs(57, 6);
    let sections: String =
        headed.iter().enumerate().map(|(n, text)| format!("<h2>Part {n} of it</h2><p>{text}</p>")).collect();
    let with_heads = headed.iter().enumerate().map(|(n, text)| format!("Part {n} of it\n{text}"));
    shapes.push(Shape {
        name: "headings",
        html: page("A guide", &format!("<nav>{MENU}</nav><article><h1>A guide</h1>{sections}</article>")),
        expected: with_heads.collect::<Vec<_>>().join("\n"),
    });
    let code = "fn main() { let answer = 42; println!(\"{answer}\"); }";
    shapes.push(Shape {
        name: "code blocks",
        html: page(
            "Docs",
            &format!(
                "<div class='toc'>{MENU}</div><main>{}<pre><code>{code}</code></pre>{}</main>",
                ps(&headed[..2]),
                ps(&headed[2..5])
            ),
        ),
        expected: format!("{}\n{code}\n{}", headed[..2].join("\n"), headed[2..5].join("\n")),
    });
    shapes.push(foreign("german", "Der alte Hafen wurde im vergangenen Jahr mit großer Mühe wieder aufgebaut, und die Bürger der Stadt freuen sich über die neue Brücke. "));
    shapes.push(foreign("french", "Le vieux port a été reconstruit l'année dernière, et les habitants de la ville se réjouissent du nouveau pont qui mène à l'île. "));
    shapes.push(foreign("japanese", "昨年、古い港が再建され、町の人々は島へ渡る新しい橋を喜んでいます。船は毎朝港を出て、夕方に戻ってきます。 "));
    shapes
}

fn foreign(name: &'static str, sentence: &str) -> Shape {
    let texts: Vec<String> = (1..5).map(|n| sentence.repeat(n).trim().to_owned()).collect();
    let html =
        page("Seite", &format!("<nav>{MENU}</nav><article>{}</article><footer>{FOOT}</footer>", ps(&texts)));
    Shape { name, html, expected: texts.join("\n") }
}

#[test]
fn the_article_is_found_in_pages_of_many_shapes() {
    let url = Url::parse("https://example.com/a/b").unwrap();
    let shapes: Vec<Shape> =
        [semantic(), generic(), old_and_odd(), structured()].into_iter().flatten().collect();
    assert!(shapes.len() >= 30, "{} shapes", shapes.len());
    let mut low = Vec::new();
    for Shape { name, html, expected } in &shapes {
        let outcome = page::read(&url, Some("text/html; charset=utf-8"), html.as_bytes());
        let Outcome::Ok(page) = outcome else { panic!("{name}: {outcome:?}") };
        let f1 = token_f1(expected, &page.text);
        if f1 < 0.9 {
            low.push(format!("{name}: {f1:.3}\n{}", page.text));
        }
    }
    assert!(low.is_empty(), "{}", low.join("\n---\n"));
}

#[test]
fn the_measure_sees_what_is_missing_and_what_is_too_much() {
    let text = paragraph(1, 1);
    assert!((token_f1(&text, &text) - 1.0).abs() < 1e-9);
    assert!(token_f1(&text, &format!("{text} {}", paragraph(9, 3))) < 0.9);
    assert!(token_f1(&text, &text[..text.len() / 2]) < 0.9);
}
