//! `abide serve` in a process of its own.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::super::BenchError;
use super::super::children::rss_mib;

/// A server on a fresh directory, killed when dropped.
pub(super) struct Served {
    child: Child,
    address: SocketAddr,
}

impl Served {
    /// Starts it on `dir`, on a free port and without anybody's configuration.
    pub(super) fn start(dir: &Path) -> Result<Served, BenchError> {
        std::fs::create_dir_all(dir)?;
        let mut child = Command::new(std::env::current_exe()?)
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(std::path::absolute(dir)?)
            .current_dir(dir)
            .env_clear()
            .env("HOME", dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let Some(stderr) = child.stderr.take() else {
            return Err(BenchError::Wrong("a server has no pipe".into()));
        };
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let mut before = Vec::new();
        let said = lines.find_map(|line| {
            let address = line.split("http://").nth(1).and_then(|rest| rest.split(',').next()?.parse().ok());
            before.push(line);
            address
        });
        // It must not wait for somebody who reads its log.
        std::thread::spawn(move || lines.for_each(drop));
        match said {
            Some(address) => Ok(Served { child, address }),
            None => {
                drop(child.kill());
                drop(child.wait());
                Err(BenchError::Wrong(format!("the server did not start: {}", before.join("; "))))
            }
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn rss_mib(&self) -> Result<f64, BenchError> {
        rss_mib(self.child.id())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Gone already is as good.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
