//! Serves a site on loopback, and keeps a log of what was asked for.

use crate::site::Site;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    site: Site,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    log: Vec<String>,
    /// A target that is not answered for now.
    held: Option<String>,
    /// Visitors that did not go away yet.
    visitors: usize,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { site: Site::new(), state: Mutex::default(), changed: Condvar::new() });
        let server = Server { address, shared: Arc::clone(&shared) };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&shared);
                shared.state.lock().unwrap().visitors += 1;
                std::thread::spawn(move || {
                    shared.serve(&stream.unwrap());
                    shared.state.lock().unwrap().visitors -= 1;
                    shared.changed.notify_all();
                });
            }
        });
        server
    }

    pub fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    pub fn site(&self) -> &Site {
        &self.shared.site
    }

    /// What was asked for so far, in order, robots.txt apart.
    pub fn log(&self) -> Vec<String> {
        self.shared.state.lock().unwrap().log.clone()
    }

    pub fn clear(&self) {
        self.shared.state.lock().unwrap().log.clear();
    }

    /// Waits until the log is so; `false` if the crawl ends before.
    pub fn wait_until(&self, enough: impl Fn(&[String]) -> bool, mut is_over: impl FnMut() -> bool) -> bool {
        let mut state = self.shared.state.lock().unwrap();
        while !enough(&state.log) {
            if is_over() {
                return false;
            }
            let pause = std::time::Duration::from_millis(20);
            state = self.shared.changed.wait_timeout(state, pause).unwrap().0;
        }
        true
    }

    /// Waits until everything is in the log that a crawler asked for before it was killed.
    pub fn wait_for_nobody(&self) {
        // Visitors are let in one after the other: this one after all that came before.
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(b"GET /robots.txt HTTP/1.1\r\n\r\n").unwrap();
        stream.read_exact(&mut [0; 8]).unwrap();
        drop(stream);
        let state = self.shared.state.lock().unwrap();
        drop(self.shared.changed.wait_while(state, |state| state.visitors > 0).unwrap());
    }

    /// Lets whoever asks for this wait, until something else is held.
    pub fn hold(&self, target: Option<&str>) {
        self.shared.state.lock().unwrap().held = target.map(str::to_owned);
        self.shared.changed.notify_all();
    }
}

impl Shared {
    /// One connection. A visitor that goes away is nobody's concern.
    fn serve(&self, stream: &TcpStream) {
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        while let Some(request) = lines.next() {
            let target = request.split(' ').nth(1).unwrap().to_owned();
            lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
            self.log(&target);
            let answer = self.site.answer(&target);
            let (status, header, length) = (answer.status, &answer.header, answer.body.len());
            let head = format!("HTTP/1.1 {status}\r\n{header}\r\nContent-Length: {length}\r\n\r\n");
            let mut out = stream;
            if out.write_all(&[head.as_bytes(), &answer.body].concat()).is_err() {
                return;
            }
        }
    }

    fn log(&self, target: &str) {
        let mut state = self.state.lock().unwrap();
        if target != "/robots.txt" {
            state.log.push(target.to_owned());
        }
        self.changed.notify_all();
        let is_held = |state: &mut State| state.held.as_deref() == Some(target);
        drop(self.changed.wait_while(state, is_held).unwrap());
    }
}
