//! The client against a stand-in that plays what endpoints do.

use crate::stand_in::{Play, StandIn, ends, says, status};
use abide_core::time::{Clock, Time};
use abide_llm::{
    Ask, Book, Client, Endpoint, Limiters, LlmError, Model, Price, Purse, Replay, Shape, Spent, Usage,
};
use serde_json::{Value, json};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use tokio::sync::Barrier;

struct Standing;

impl Clock for Standing {
    fn now(&self) -> Time {
        Time(1_767_225_600_000)
    }

    fn elapsed_ms(&self) -> i64 {
        0
    }
}

fn ask() -> Ask {
    let schema = json!({
        "type": "object",
        "properties": { "summary": { "type": "string", "minLength": 3 } },
        "required": ["summary"],
        "additionalProperties": false,
    });
    Ask {
        system: "Summarize.".to_owned(),
        user: "A page.".to_owned(),
        shape: Shape::Json { name: "summary".to_owned(), schema },
        max_tokens: 64,
        prompt_version: 1,
    }
}

fn endpoint(stand_in: &StandIn) -> Endpoint {
    let price = Price { input_micros: 1_000_000, output_micros: 2_000_000 };
    Endpoint { price, timeout_ms: 30_000, ..Endpoint::new(stand_in.base_url.clone(), "wanted") }
}

/// For a stand-in that does not answer.
fn impatient(stand_in: &StandIn) -> Endpoint {
    Endpoint { timeout_ms: 300, ..endpoint(stand_in) }
}

fn client(endpoint: Endpoint) -> Client {
    Client::new(endpoint, &Limiters::default(), Arc::new(Standing)).unwrap()
}

const GOOD: &str = r#"{"summary": "All is well."}"#;

/// Plays the script, asks once, and gives the answer's value or error with the number of requests.
async fn play(plays: impl IntoIterator<Item = Play>) -> (Result<Value, LlmError>, Vec<Value>) {
    let plays: Vec<Play> = plays.into_iter().collect();
    let hangs = plays.iter().any(|play| matches!(play, Play::Hang));
    let stand_in = StandIn::start(plays).await;
    let endpoint = if hangs { impatient(&stand_in) } else { endpoint(&stand_in) };
    let answer = client(endpoint).ask(&ask()).await;
    (answer.map(|answer| answer.value), stand_in.bodies())
}

#[tokio::test]
async fn an_answer_has_its_shape_its_tokens_and_its_cost() {
    let stand_in = StandIn::start([says(GOOD)]).await;
    let client = client(Endpoint { api_key: Some("sk-1".to_owned()), ..endpoint(&stand_in) });
    let answer = client.ask(&ask()).await.unwrap();
    assert_eq!(answer.value, json!({ "summary": "All is well." }));
    assert_eq!((answer.model.as_str(), answer.requests, answer.repaired), ("stand-in-1", 1, false));
    assert_eq!(answer.usage, Usage { input_tokens: 100, output_tokens: 20 });
    assert_eq!(answer.cost_micros, 140);
    assert_eq!(client.spent().cost_micros, 140);
    let bodies = stand_in.bodies();
    assert_eq!(bodies[0]["response_format"]["type"], "json_schema");
    assert_eq!(bodies[0]["model"], "wanted");
    assert_eq!(stand_in.header("authorization").unwrap(), "Bearer sk-1");
    assert!(!format!("{client:?}").contains("sk-1"));
}

#[tokio::test]
async fn failures_that_pass_are_tried_again() {
    let soon = Play::Reply(429, vec![("retry-after", "0.05".to_owned())], String::new());
    let not_json = Play::Reply(200, Vec::new(), "<html>".to_owned());
    for first in [soon, status(500), Play::Hang, not_json, says("I would rather talk.")] {
        let (answer, bodies) = play([first, says(GOOD)]).await;
        assert_eq!(answer.unwrap(), json!({ "summary": "All is well." }));
        assert_eq!(bodies.len(), 2);
    }
}

/// An endpoint that takes no more for now is waited for, and no attempt is used up.
#[tokio::test]
async fn patience_is_no_attempt() {
    let soon = || Play::Reply(429, vec![("retry-after", "0.02".to_owned())], String::new());
    let stand_in = StandIn::start((0..6).map(|_| soon()).chain([says(GOOD)])).await;
    let patient = Endpoint { attempts: 1, patience_ms: 1_000, ..endpoint(&stand_in) };
    assert_eq!(client(patient).ask(&ask()).await.unwrap().requests, 7);
    // It ends, too.
    let stand_in = StandIn::start((0..6).map(|_| soon())).await;
    let patient = Endpoint { attempts: 1, patience_ms: 50, ..endpoint(&stand_in) };
    assert!(matches!(client(patient).ask(&ask()).await, Err(LlmError::Limited { .. })));
    assert_eq!(stand_in.bodies().len(), 3);
}

#[tokio::test]
async fn failures_that_stay_are_given_up_after_the_attempts() {
    let (answer, bodies) = play([status(500), status(502), status(500), says(GOOD)]).await;
    let error = answer.unwrap_err();
    assert!(matches!(error, LlmError::Unavailable { .. }) && error.is_retryable(), "{error}");
    assert_eq!(bodies.len(), 3);
    let (answer, bodies) = play([Play::Hang, Play::Hang, Play::Hang]).await;
    assert!(matches!(answer, Err(LlmError::Timeout { timeout_ms: 300, .. })));
    assert_eq!(bodies.len(), 3);
}

#[tokio::test]
async fn what_trying_again_cannot_change_is_not_tried_again() {
    for code in [400, 401, 403, 404, 422] {
        let (answer, bodies) = play([status(code), says(GOOD)]).await;
        let error = answer.unwrap_err();
        assert!(matches!(error, LlmError::Refused { status, .. } if status == code), "{error}");
        assert!(!error.is_retryable());
        assert_eq!(bodies.len(), 1);
    }
    let (answer, _) = play([ends("", "content_filter")]).await;
    assert!(matches!(answer, Err(LlmError::Declined(_))));
}

#[tokio::test]
async fn a_key_that_an_endpoint_repeats_is_not_passed_on() {
    let stand_in = StandIn::start([Play::Reply(401, Vec::new(), "no: sk-1".to_owned())]).await;
    let client = client(Endpoint { api_key: Some("sk-1".to_owned()), ..endpoint(&stand_in) });
    let error = client.ask(&ask()).await.unwrap_err().to_string();
    assert!(error.contains("no: …") && !error.contains("sk-1"), "{error}");
}

#[tokio::test]
async fn a_long_rest_is_told_to_the_caller() {
    let (answer, bodies) =
        play([Play::Reply(429, vec![("retry-after", "120".to_owned())], String::new())]).await;
    assert_eq!(answer.unwrap_err().wait_ms(), Some(120_000));
    assert_eq!(bodies.len(), 1);
}

#[tokio::test]
async fn an_endpoint_without_schemas_is_asked_in_the_form_it_knows_and_that_is_remembered() {
    let no = |what: &str| Play::Reply(400, Vec::new(), format!("unknown parameter {what}"));
    let stand_in =
        StandIn::start([no("response_format.json_schema"), no("response_format"), says(GOOD), says(GOOD)])
            .await;
    let client = client(endpoint(&stand_in));
    for _ in 0..2 {
        assert_eq!(client.ask(&ask()).await.unwrap().value, json!({ "summary": "All is well." }));
    }
    let forms: Vec<Value> =
        stand_in.bodies().iter().map(|body| body["response_format"]["type"].clone()).collect();
    assert_eq!(forms, [json!("json_schema"), json!("json_object"), json!(null), json!(null)]);
    let system = stand_in.bodies()[2]["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(system.contains("JSON Schema") && system.contains("minLength"), "{system}");
}

#[tokio::test]
async fn questions_at_a_time_find_out_together_which_form_an_endpoint_knows() {
    let all = Arc::new(Barrier::new(3));
    let refused = || {
        let no = Play::Reply(400, Vec::new(), "response_format json_schema is not supported".to_owned());
        Play::Meets(all.clone(), Box::new(no))
    };
    let plays = (0..3).map(|_| refused()).chain((0..3).map(|_| says(GOOD)));
    let stand_in = StandIn::start(plays).await;
    let client = client(endpoint(&stand_in));
    let question = ask();
    let (a, b, c) = tokio::join!(client.ask(&question), client.ask(&question), client.ask(&question));
    for answer in [a, b, c] {
        assert_eq!(answer.unwrap().requests, 2);
    }
    let form = |body: &Value| body["response_format"]["type"].clone();
    assert!(stand_in.bodies()[3..].iter().all(|body| form(body) == "json_object"), "{:?}", stand_in.bodies());
}

#[tokio::test]
async fn what_a_model_does_not_take_beside_the_question_is_said_otherwise_or_left_out() {
    let no = |param: &str, says: &str| {
        let error = json!({ "error": { "message": says, "param": param, "code": "unsupported" } });
        Play::Reply(400, Vec::new(), error.to_string())
    };
    let room = || no("max_tokens", "'max_tokens' is not supported here: use 'max_completion_tokens' instead");
    let warmth = || no("temperature", "'temperature' does not support 0 with this model");
    let stand_in = StandIn::start([room(), warmth(), says(GOOD), says(GOOD), warmth()]).await;
    let client = client(endpoint(&stand_in));
    assert_eq!(client.ask(&ask()).await.unwrap().requests, 3);
    assert_eq!(client.ask(&ask()).await.unwrap().requests, 1, "that is remembered");
    let said =
        |body: &Value| ["max_tokens", "max_completion_tokens", "temperature"].map(|name| body[name].clone());
    let bodies = stand_in.bodies();
    assert_eq!(said(&bodies[0]), [json!(64), json!(null), json!(0)]);
    assert_eq!(said(&bodies[1]), [json!(null), json!(64), json!(0)]);
    assert_eq!(said(&bodies[3]), [json!(null), json!(64), json!(null)]);
    assert!(bodies.iter().all(|body| body["response_format"]["type"] == "json_schema"));
    // What is not said any more cannot be the matter.
    assert!(matches!(client.ask(&ask()).await, Err(LlmError::Refused { status: 400, .. })));
}

#[tokio::test]
async fn broken_json_is_repaired_and_the_wrong_shape_is_complained_about() {
    let stand_in = StandIn::start([says("Here:\n```json\n{\"summary\": \"two\nlines\",}\n```")]).await;
    let answer = client(endpoint(&stand_in)).ask(&ask()).await.unwrap();
    assert_eq!((answer.value, answer.repaired), (json!({ "summary": "two\nlines" }), true));

    let (answer, bodies) = play([says(r#"{"summary": {}}"#), says(GOOD)]).await;
    assert!(answer.is_ok());
    let complaint = bodies[1]["messages"][2]["content"].as_str().unwrap().to_owned();
    assert!(complaint.contains("/summary"), "{complaint}");

    // What is careless and safe is no reason to ask again.
    let stand_in = StandIn::start([says(r#"{"summary": ["All is well."], "mood": "calm"}"#)]).await;
    let answer = client(endpoint(&stand_in)).ask(&ask()).await.unwrap();
    assert_eq!((answer.value, answer.repaired), (json!({ "summary": "All is well." }), true));

    let (answer, _) = play((0..3).map(|_| says(r#"{"sum"#))).await;
    let said = answer.unwrap_err().to_string();
    assert!(said.contains("the JSON is broken or cut off: \"summary\" is a required property"), "{said}");
}

#[tokio::test]
async fn a_cut_answer_gets_more_room_and_is_never_taken_for_a_whole_one() {
    let cut = || ends(r#"{"summary": "All is w"#, "length");
    let (answer, bodies) = play([cut(), says(GOOD)]).await;
    assert_eq!(answer.unwrap(), json!({ "summary": "All is well." }));
    assert_eq!([&bodies[0]["max_tokens"], &bodies[1]["max_tokens"]], [64, 128]);
    let (answer, _) = play([cut(), cut(), cut()]).await;
    assert_eq!(answer, Err(LlmError::Cut { max_tokens: 256 }));
}

/// What is written down, and what it says if it cannot be written.
#[derive(Default)]
struct Page {
    micros: AtomicI64,
    is_full: AtomicBool,
}

impl Book for Page {
    fn add(&self, micros: i64) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async move {
            if self.is_full.load(Ordering::Relaxed) {
                return Err("the disk is full".to_owned());
            }
            self.micros.fetch_add(micros, Ordering::Relaxed);
            Ok(())
        })
    }
}

/// A client that asks once, and what it asks takes 140.
fn bounded(stand_in: &StandIn, purse: &Purse) -> Client {
    let endpoint = Endpoint { attempts: 1, ..endpoint(stand_in) };
    client(Endpoint { purse: Some(purse.clone()), ..endpoint })
}

#[tokio::test]
async fn no_number_of_questions_at_a_time_spends_more_than_there_is() {
    let stand_in = StandIn::start((0..6).map(|_| says(GOOD))).await;
    let most = client(endpoint(&stand_in)).most_micros(&ask());
    // Enough for three that take what they take, and for a fourth that does not take more.
    let budget_micros = 2 * 140 + most;
    let purse = Purse::new(budget_micros);
    let (one, other) = (bounded(&stand_in, &purse), bounded(&stand_in, &purse));
    let question = ask();
    let asked = |client: &Client| {
        let (client, question) = (client.clone(), question.clone());
        async move { client.ask(&question).await.map(drop) }
    };
    let (a, b, c, d, e) = tokio::join!(asked(&one), asked(&other), asked(&one), asked(&other), asked(&one));
    let answers = [a, b, c, d, e];
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 3, "{answers:?}");
    let over = LlmError::OverBudget { budget_micros };
    assert!(answers.iter().filter_map(|answer| answer.as_ref().err()).all(|error| *error == over));
    assert_eq!(stand_in.bodies().len(), 3);
}

#[tokio::test]
async fn what_was_set_aside_is_written_down_before_it_is_spent() {
    let stand_in = StandIn::start([says(GOOD), status(401)]).await;
    let most = client(endpoint(&stand_in)).most_micros(&ask());
    let (purse, book) = (Purse::new(10 * most), Arc::new(Page::default()));
    let spent = || book.micros.load(Ordering::Relaxed);
    purse.shut();
    let client = bounded(&stand_in, &purse);
    let question = ask();
    let opens = |spent| {
        let (purse, book) = (purse.clone(), Arc::clone(&book));
        async move { purse.open(book as Arc<dyn Book>, spent) }
    };
    let (refused, ()) = tokio::join!(client.ask(&question), opens(10 * most));
    assert!(matches!(refused, Err(LlmError::OverBudget { .. })), "{refused:?}");
    assert_eq!(stand_in.bodies().len(), 0, "nobody asks before it is known what was spent");
    purse.shut();
    let (answer, ()) = tokio::join!(client.ask(&question), opens(7));
    answer.unwrap();
    assert_eq!(spent(), 140);
    // Nobody knows what became of one that was never answered: it took all that it may.
    let most = i64::try_from(most).unwrap();
    let silent = StandIn::start([Play::Hang]).await;
    let once = Endpoint { purse: Some(purse.clone()), attempts: 1, ..impatient(&silent) };
    self::client(once).ask(&question).await.unwrap_err();
    assert_eq!(spent(), 140 + most);
    client.ask(&question).await.unwrap_err();
    assert_eq!(spent(), 140 + most, "one that was refused took nothing");
    let garbled = StandIn::start([Play::Reply(200, Vec::new(), "oops".to_owned())]).await;
    let once = Endpoint { purse: Some(purse.clone()), attempts: 1, ..endpoint(&garbled) };
    self::client(once).ask(&question).await.unwrap_err();
    assert_eq!(spent(), 140 + 2 * most, "one whose answer cannot be read was paid for");
    book.is_full.store(true, Ordering::Relaxed);
    let refused = client.ask(&question).await.unwrap_err();
    assert_eq!(refused, LlmError::NotNoted("the disk is full".to_owned()));
    assert_eq!(stand_in.bodies().len(), 2, "what cannot be written down is not spent");
}

#[tokio::test]
async fn what_nobody_waits_for_any_more_counts_in_full() {
    let stand_in = StandIn::start([Play::Hang, says(GOOD)]).await;
    let most = client(endpoint(&stand_in)).most_micros(&ask());
    let purse = Purse::new(most + most - 1);
    let client = bounded(&stand_in, &purse);
    let question = ask();
    let gives_up = async {
        while stand_in.bodies().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = client.ask(&question) => panic!("it hangs"),
        () = gives_up => {}
    }
    assert!(matches!(client.ask(&question).await, Err(LlmError::OverBudget { .. })));
}

#[tokio::test]
async fn clients_of_one_model_share_its_room() {
    let stand_in = StandIn::start([Play::Hang, says(GOOD)]).await;
    let limiters = Limiters::default();
    let one_at_a_time = Endpoint { concurrency: 1, attempts: 1, timeout_ms: 1_000, ..endpoint(&stand_in) };
    let make = || Client::new(one_at_a_time.clone(), &limiters, Arc::new(Standing)).unwrap();
    let (first, second) = (make(), make());
    let question = ask();
    let (first, second) = tokio::join!(first.ask(&question), second.ask(&question));
    assert!(matches!(first, Err(LlmError::Timeout { .. })));
    assert!(second.is_ok(), "it was asked when the first had given up its room");
}

#[tokio::test]
async fn a_recording_answers_the_same_question_and_no_other() {
    let stand_in = StandIn::start([says(GOOD)]).await;
    let answer = client(endpoint(&stand_in)).ask(&ask()).await.unwrap();
    let mut recorded = Replay::of("wanted");
    recorded.record(&ask(), answer.clone());
    let replay = Replay::from_json(&recorded.to_json().unwrap()).unwrap();
    assert_eq!(replay.ask(&ask()).await, Ok(answer));
    let reworded = Ask { prompt_version: 2, ..ask() };
    assert!(matches!(replay.ask(&reworded).await, Err(LlmError::NotRecorded(_))));
}

#[test]
fn an_endpoint_that_is_no_url_is_refused_by_name() {
    for base_url in ["", "localhost", "ftp://host/v1"] {
        let made = Client::new(Endpoint::new(base_url, "m"), &Limiters::default(), Arc::new(Standing));
        assert!(matches!(made, Err(LlmError::Setup(why)) if why.contains(&format!("{base_url:?}"))));
    }
}

#[tokio::test]
async fn what_gave_no_answer_is_counted_too() {
    let stand_in = StandIn::start([says("no object"), says("none either"), says("nor here")]).await;
    let (answer, spent) = client(endpoint(&stand_in)).ask_counted(&ask()).await;
    assert!(matches!(answer, Err(LlmError::BadAnswer(_))), "{answer:?}");
    assert_eq!((spent.requests, spent.usage.input_tokens, spent.cost_micros), (3, 300, 420));
}

/// Not even an answer that has to be asked for again costs more than is allowed.
#[tokio::test]
async fn no_request_is_sent_that_is_not_allowed() {
    let stand_in = StandIn::start((0..3).map(|_| says("no object"))).await;
    let client = client(endpoint(&stand_in));
    let most = client.most_micros(&ask());
    // What the stand-in says a request takes is less than what it may take.
    assert!(most > 140, "{most}");
    let reckoning = client.ask_within(&ask(), most + 139).await;
    assert!(matches!(reckoning.answer, Err(LlmError::BadAnswer(_))), "{reckoning:?}");
    assert_eq!((reckoning.spent.requests, reckoning.spent.cost_micros), (1, 140));
    let reckoning = client.ask_within(&ask(), most + 140).await;
    assert_eq!((reckoning.spent.requests, reckoning.unanswered_micros), (2, 0));
    // What a request took that was never answered is not known: it may have been all of it.
    let stand_in = StandIn::start([Play::Hang]).await;
    let reckoning = self::client(impatient(&stand_in)).ask_within(&ask(), most).await;
    assert_eq!((reckoning.spent.requests, reckoning.unanswered_micros), (1, most));
}

#[tokio::test]
async fn what_everybody_spends_on_a_model_is_counted_also_if_it_gave_nothing() {
    let stand_in = StandIn::start([says(GOOD), says("I would rather talk."), says("No."), says("No.")]).await;
    let limiters = Limiters::default();
    let client = || Client::new(endpoint(&stand_in), &limiters, Arc::new(Standing)).unwrap();
    client().ask(&ask()).await.unwrap();
    client().ask(&ask()).await.unwrap_err();
    let spent = limiters.spent();
    let usage = Usage { input_tokens: 400, output_tokens: 80 };
    assert_eq!(spent.keys().collect::<Vec<_>>(), ["wanted"]);
    assert_eq!(spent["wanted"], Spent { requests: 4, usage, cost_micros: 560 });
}
