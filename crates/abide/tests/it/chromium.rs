//! A headless Chromium, driven by its debugging protocol over a WebSocket.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// What the browser is called, here and there.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const FLAGS: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--no-proxy-server",
    "--remote-debugging-port=0",
];
/// Longer than anything on a page takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page. Killed when dropped.
pub(crate) struct Browser {
    child: Child,
    runtime: Runtime,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    session: Option<String>,
    calls: u64,
    /// What the console said that is an error, besides requests that were refused.
    pub(crate) errors: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    /// None if there is no Chromium on this machine.
    pub(crate) fn start() -> Option<Browser> {
        let profile = TempDir::new().expect("a temporary folder");
        let mut child = NAMES.iter().find_map(|name| spawn(name, &profile))?;
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut lines = stderr.lines().map_while(Result::ok);
        let address = lines
            .find_map(|line| line.strip_prefix("DevTools listening on ").map(|rest| rest.trim().to_owned()));
        let address = address.expect("it says where it listens");
        // It must not wait for somebody who reads its messages.
        std::thread::spawn(move || lines.for_each(drop));
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (socket, _) = runtime.block_on(connect_async(address)).expect("it listens");
        let (session, errors) = (None, Vec::new());
        let mut browser = Browser { child, runtime, socket, session, calls: 0, errors, _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attach = json!({ "targetId": target, "flatten": true });
        let session = browser.call("Target.attachToTarget", attach)["sessionId"].clone();
        browser.session = session.as_str().map(str::to_owned);
        for domain in ["Runtime.enable", "Log.enable", "Page.enable"] {
            browser.call(domain, json!({}));
        }
        Some(browser)
    }

    /// Calls a method of the protocol.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.calls += 1;
        let mut request = json!({ "id": self.calls, "method": method, "params": params });
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        let (socket, errors, id) = (&mut self.socket, &mut self.errors, json!(self.calls));
        let talk = async {
            socket.send(Message::text(request.to_string())).await.expect("it listens");
            while let Some(message) = socket.next().await {
                let message = message.expect("a message");
                let Ok(text) = message.to_text() else { continue };
                let Ok(mut said) = serde_json::from_str::<Value>(text) else { continue };
                if said["id"] == id {
                    let error = said["error"].take();
                    return if error.is_null() { Ok(said["result"].take()) } else { Err(error) };
                }
                errors.extend(error_in(&said));
            }
            panic!("the browser ended during {request}")
        };
        let answer = self.runtime.block_on(async { tokio::time::timeout(PATIENCE, talk).await });
        answer.unwrap_or_else(|_| panic!("no answer to {request}"))
    }

    /// Loads a page and waits until `ready` holds on it.
    pub(crate) fn open(&mut self, url: &str, ready: &str) {
        self.call("Page.navigate", json!({ "url": url }));
        self.wait(ready);
    }

    /// The value of an expression, or of what it promises.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        self.try_eval(expression).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// Fails if the page is left meanwhile.
    fn try_eval(&mut self, expression: &str) -> Result<Value, Value> {
        let params = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let mut answer = self.ask("Runtime.evaluate", params)?;
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        Ok(answer["result"]["value"].take())
    }

    /// Waits until an expression holds, looking whenever the page changes, and gives its value. Goes on looking if another
    /// page is loaded.
    pub(crate) fn wait(&mut self, expression: &str) -> Value {
        let looking = format!(
            "new Promise((resolve) => {{
                const look = () => {{
                    const seen = ({expression});
                    if (!seen) return;
                    observer.disconnect();
                    resolve(seen);
                }};
                const observer = new MutationObserver(look);
                observer.observe(document, {{ subtree: true, childList: true, attributes: true, characterData: true }});
                look();
            }})"
        );
        loop {
            match self.try_eval(&looking) {
                Ok(value) => return value,
                Err(error) => assert!(error.to_string().contains("navigat"), "{expression}: {error}"),
            }
        }
    }

    /// Clicks the element of a selector as soon as it is there.
    pub(crate) fn click(&mut self, selector: &str) {
        let selector = json!(selector);
        self.wait(&format!("document.querySelector({selector}) !== null"));
        self.eval(&format!("document.querySelector({selector}).click()"));
    }

    /// Puts text in the place of a field's, as from a keyboard.
    pub(crate) fn fill(&mut self, selector: &str, text: &str) {
        self.eval(&format!("document.querySelector({}).select()", json!(selector)));
        self.call("Input.insertText", json!({ "text": text }));
    }
}

fn spawn(name: &str, profile: &TempDir) -> Option<Child> {
    Command::new(name)
        .args(FLAGS)
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg("about:blank")
        // What it leaves there goes with the profile.
        .env("TMPDIR", profile.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .ok()
}

/// What an event of the protocol says went wrong. A request that is refused is part of a test.
fn error_in(said: &Value) -> Option<Value> {
    let params = &said["params"];
    let is_error = match said["method"].as_str()? {
        "Runtime.exceptionThrown" => true,
        "Runtime.consoleAPICalled" => params["type"] == json!("error"),
        "Log.entryAdded" => {
            params["entry"]["level"] == json!("error") && params["entry"]["source"] != json!("network")
        }
        _ => false,
    };
    is_error.then(|| params.clone())
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
