//! The lanes of pages and of summaries: so many are asked for at a time, however many jobs there are.

use abide_core::job::{AttemptEnd, JobId, Lease, LeaseRef, LeaseToken};
use abide_core::json::Json;
use abide_core::name::{JobKind, QueueName};
use abide_core::time::Time;
use abide_engine::clock::SystemClock;
use abide_engine::{JobContext, Worker};
use abide_fetch::testing::{Server, reply};
use abide_fetch::{FetchOptions, Fetcher, Guard, Reach};
use abide_links::page::{Metadata, Page};
use abide_links::processor::fetch::{Fetch, FetchPayload};
use abide_links::processor::rows::Answered;
use abide_links::processor::summarize::{Summarize, SummarizePayload, Summarized};
use abide_links::processor::{FETCH, FETCH_QUEUE};
use abide_llm::{Answer, Ask, Counted, LlmError, Model, Spent, Usage};
use serde_json::json;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{mpsc, watch};

fn lease(n: i64, url: String) -> Lease {
    let payload = FetchPayload { link_id: n.to_string(), url, attempt: 1, failures: 0, waits_since: None };
    lease_of(n, &payload)
}

/// A lease of a job with this payload; workers do not look at its queue.
fn lease_of(n: i64, payload: &impl serde::Serialize) -> Lease {
    Lease {
        lease: LeaseRef { job: JobId(n), attempt: 1, token: LeaseToken::draw(1, JobId(n), 1) },
        queue: QueueName::new(FETCH_QUEUE).unwrap(),
        kind: JobKind::new(FETCH).unwrap(),
        payload: Json::encode(payload).unwrap(),
        unique_key: None,
        failures: 0,
        max_attempts: 3,
        lease_expires_at: Time(0),
        trace: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_pages_are_asked_for_at_a_time_than_the_lane_has_places() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let peak = Arc::clone(&most);
    let site = Server::start(move |request| {
        if request.path == "/robots.txt" {
            return reply(404, &[], b"");
        }
        peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::yield_now();
        now.fetch_sub(1, Ordering::SeqCst);
        reply(200, &[("Content-Type", "text/html")], b"<title>A page</title>")
    });
    let clock = Arc::new(SystemClock::new());
    let fetcher = Fetcher::new(Guard::new(Reach::Anywhere), FetchOptions::default(), clock).unwrap();
    let worker = Fetch::new(fetcher, 2);
    let (says, _said) = mpsc::unbounded_channel();
    let (_stop, stopped) = watch::channel(false);
    let jobs: Vec<_> = (0..12)
        .map(|n| {
            let lease = lease(n, site.url(&format!("/{n}")));
            tokio::spawn(worker.run(JobContext::new(lease, says.clone(), stopped.clone())))
        })
        .collect();
    for job in jobs {
        let finish = job.await.unwrap();
        assert!(matches!(&finish.end, AttemptEnd::Done { result } if result.as_str().contains("A page")));
    }
    assert!((1..=2).contains(&most.load(Ordering::SeqCst)), "{most:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_waits_for_its_place_is_handed_back_when_it_is_told_to_stop() {
    let clock = Arc::new(SystemClock::new());
    let fetcher = Fetcher::new(Guard::new(Reach::Anywhere), FetchOptions::default(), clock).unwrap();
    let worker = Fetch::new(fetcher, 0);
    let (says, _said) = mpsc::unbounded_channel();
    let (stop, stopped) = watch::channel(false);
    let waiting = worker.run(JobContext::new(lease(1, "http://localhost:1/".to_owned()), says, stopped));
    stop.send_replace(true);
    assert_eq!(waiting.await.end, AttemptEnd::HandedBack);
}

/// A model that counts who asks it at a time, and how often it was asked.
#[derive(Default)]
struct Counting {
    now: AtomicUsize,
    most: AtomicUsize,
    asked: AtomicUsize,
}

impl Model for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn ask<'a>(&'a self, _: &'a Ask) -> Pin<Box<dyn Future<Output = Result<Answer, LlmError>> + Send + 'a>> {
        Box::pin(async {
            self.asked.fetch_add(1, Ordering::SeqCst);
            self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            self.now.fetch_sub(1, Ordering::SeqCst);
            let value = json!({ "summary": "What it says.", "existingTags": [], "newTags": [] });
            let (model, usage) = ("counting".to_owned(), Usage { input_tokens: 1, output_tokens: 1 });
            Ok(Answer { value, model, usage, cost_micros: 0, requests: 1, repaired: false })
        })
    }
}

fn question(text: &str) -> SummarizePayload {
    let page =
        Page { url: "https://e.org/".to_owned(), metadata: Metadata::default(), text: text.to_owned() };
    SummarizePayload {
        link_id: "a".to_owned(),
        domain: "e.org".to_owned(),
        page,
        tags: Vec::new(),
        cached: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_asked_by_no_more_jobs_at_a_time_than_the_lane_has_places() {
    let model = Arc::new(Counting::default());
    let worker = Summarize::new(Some(Arc::clone(&model) as Arc<dyn Model>), 2);
    let (says, _said) = mpsc::unbounded_channel();
    let (_stop, stopped) = watch::channel(false);
    let jobs: Vec<_> = (0..12)
        .map(|n| {
            let lease = lease_of(n, &question(&n.to_string()));
            tokio::spawn(worker.run(JobContext::new(lease, says.clone(), stopped.clone())))
        })
        .collect();
    for job in jobs {
        assert!(matches!(job.await.unwrap().end, AttemptEnd::Done { .. }));
    }
    assert_eq!(model.asked.load(Ordering::SeqCst), 12);
    assert!((1..=2).contains(&model.most.load(Ordering::SeqCst)), "{:?}", model.most);
}

#[tokio::test]
async fn a_page_that_says_the_same_again_is_not_paid_for_twice() {
    let model = Arc::new(Counting::default());
    let worker = Summarize::new(Some(Arc::clone(&model) as Arc<dyn Model>), 1);
    let summarized = async |payload: &SummarizePayload| {
        let (says, _said) = mpsc::unbounded_channel();
        let (_stop, stopped) = watch::channel(false);
        let finish = worker.run(JobContext::new(lease_of(1, payload), says, stopped)).await;
        let AttemptEnd::Done { result } = finish.end else { panic!("{:?}", finish.end) };
        let Summarized::Made(answered) = result.decode().unwrap() else { panic!("not made") };
        answered
    };
    let first = summarized(&question("One text.")).await;
    let asked = || model.asked.load(Ordering::SeqCst);
    assert_eq!((first.summary.as_deref(), asked()), (Some("What it says."), 1));
    // That there are other tags now changes nothing about the page.
    let tags = vec!["new".to_owned()];
    let again = SummarizePayload { cached: Some(first.clone()), tags, ..question("One text.") };
    let second = summarized(&again).await;
    assert_eq!((second.summary, second.spent, asked()), (first.summary.clone(), None, 1));
    summarized(&SummarizePayload { cached: Some(first), ..question("Another text.") }).await;
    assert_eq!(asked(), 2);
}

/// A model that has nothing to say but this.
struct Failing(LlmError);

impl Model for Failing {
    fn name(&self) -> &str {
        "failing"
    }

    fn ask<'a>(&'a self, _: &'a Ask) -> Pin<Box<dyn Future<Output = Result<Answer, LlmError>> + Send + 'a>> {
        Box::pin(async { Err(self.0.clone()) })
    }
}

/// What comes of the last attempt to summarize a page for which `cached` is kept.
async fn last_attempt(model: impl Model, cached: Option<Answered>) -> Summarized {
    let worker = Summarize::new(Some(Arc::new(model)), 1);
    let (says, _said) = mpsc::unbounded_channel();
    let (_stop, stopped) = watch::channel(false);
    let payload = SummarizePayload { cached, ..question("One text.") };
    let lease = Lease { failures: 2, ..lease_of(1, &payload) };
    match worker.run(JobContext::new(lease, says, stopped)).await.end {
        AttemptEnd::Done { result } => result.decode().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// A model that fails after it was paid so many tokens.
struct Paid(LlmError, Usage);

impl Model for Paid {
    fn name(&self) -> &str {
        "paid"
    }

    fn ask<'a>(&'a self, _: &'a Ask) -> Pin<Box<dyn Future<Output = Result<Answer, LlmError>> + Send + 'a>> {
        Box::pin(async { Err(self.0.clone()) })
    }

    fn ask_counted<'a>(&'a self, _: &'a Ask) -> Counted<'a> {
        let spent = Spent { requests: 3, usage: self.1, cost_micros: 9 };
        Box::pin(async move { (Err(self.0.clone()), spent) })
    }
}

#[tokio::test]
async fn a_question_that_was_answered_and_paid_for_is_not_asked_by_another_attempt() {
    let (nothing, some) = (Usage::default(), Usage { input_tokens: 20, output_tokens: 10 });
    let bad = || LlmError::BadAnswer("no JSON".to_owned());
    let away =
        || LlmError::Unavailable { endpoint: "http://e:1".to_owned(), why: "it answered 500".to_owned() };
    for (error, usage, is_asked_again) in
        [(bad(), some, false), (bad(), nothing, false), (away(), some, false), (away(), nothing, true)]
    {
        let worker = Summarize::new(Some(Arc::new(Paid(error.clone(), usage))), 1);
        let (says, _said) = mpsc::unbounded_channel();
        let (_stop, stopped) = watch::channel(false);
        let lease = lease_of(1, &question("One text."));
        match worker.run(JobContext::new(lease, says, stopped)).await.end {
            AttemptEnd::Error { .. } => assert!(is_asked_again, "{error} {usage:?}"),
            AttemptEnd::Done { result } => {
                let Summarized::Failed { spent, .. } = result.decode().unwrap() else { panic!("{result:?}") };
                assert_eq!((is_asked_again, spent.map(|spent| spent.usage)), (false, Some(usage)), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A model that says this of every page.
struct Saying(&'static str);

impl Model for Saying {
    fn name(&self) -> &str {
        "saying"
    }

    fn ask<'a>(&'a self, _: &'a Ask) -> Pin<Box<dyn Future<Output = Result<Answer, LlmError>> + Send + 'a>> {
        Box::pin(async {
            let value = json!({ "summary": self.0, "existingTags": [], "newTags": ["help"] });
            let (model, usage) = ("saying".to_owned(), Usage::default());
            Ok(Answer { value, model, usage, cost_micros: 0, requests: 1, repaired: false })
        })
    }
}

#[tokio::test]
async fn what_a_model_says_of_itself_is_no_summary() {
    for (says, is_one) in [
        ("I’m sorry, but I cannot open web pages.", false),
        ("As an AI model I have no opinion on this page.", false),
        (" {\"summary\": \"The harbour was rebuilt.\"}", false),
        ("```json and more of it", false),
        ("Here is a summary of the page: it is about a harbour.", false),
        ("[Video] How the old harbour was rebuilt in a year.", true),
        ("Here the harbour of the town is described.", true),
        ("Sorry excuses of harbour builders, collected.", true),
    ] {
        let made = last_attempt(Saying(says), None).await;
        let Summarized::Made(Answered { summary, tags, .. }) = made else { panic!("{made:?}") };
        assert_eq!((summary.is_some(), tags.is_empty()), (is_one, !is_one), "{says}");
    }
}

#[tokio::test]
async fn that_a_model_had_no_answer_is_not_kept_as_one() {
    let declined = last_attempt(Failing(LlmError::Declined("no".to_owned())), None).await;
    let Summarized::Made(declined) = declined else { panic!("{declined:?}") };
    assert_eq!(declined.summary, None);
    let answered = last_attempt(Counting::default(), None).await;
    let Summarized::Made(answered) = answered else { panic!("{answered:?}") };
    assert_eq!(answered.summary.as_deref(), Some("What it says."));
    let nothing = Answered { summary: None, ..answered.clone() };
    for (cached, requests) in [(answered, None), (nothing, Some(1))] {
        let again = last_attempt(Counting::default(), Some(cached)).await;
        let Summarized::Made(again) = again else { panic!("{again:?}") };
        assert_eq!(again.spent.map(|spent| spent.requests), requests);
        assert_eq!(again.summary.as_deref(), Some("What it says."));
    }
}

#[tokio::test]
async fn a_link_says_why_its_model_could_not_be_asked_and_never_what_the_endpoint_said() {
    let (endpoint, secret) = ("http://inside:1".to_owned(), "the key is sk-secret".to_owned());
    let refused =
        LlmError::Refused { endpoint: endpoint.clone(), status: 401, code: None, message: secret.clone() };
    for (error, says) in [
        (refused, "refused the question (status 401)"),
        (LlmError::Unavailable { endpoint: endpoint.clone(), why: secret.clone() }, "cannot be reached"),
        (LlmError::Timeout { endpoint, timeout_ms: 70 }, "within 70 ms"),
        (LlmError::BadAnswer(secret), "cannot be used"),
        (LlmError::OverBudget { budget_micros: 5 }, "budget"),
    ] {
        let end = last_attempt(Failing(error), None).await;
        let Summarized::Failed { code, why, .. } = end else { panic!("{end:?}") };
        assert_eq!(code, "AiCallError");
        assert!(why.contains(says) && !why.contains("inside") && !why.contains("secret"), "{why}");
    }
}
