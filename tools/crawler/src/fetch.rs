//! Fetches pages of one site, as its robots.txt allows.

use crate::Result;
use crate::links::target_of;
use reqwest::header::{CONTENT_TYPE, HeaderName, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use sketchdb::web::MediaType;
use std::time::Duration;
use texting_robots::Robot;

const AGENT: &str = "sketchdb-crawler";
const TIME_OUT: Duration = Duration::from_secs(30);
/// Redirects on the way to robots.txt; those of pages are links.
const REDIRECTS: usize = 5;
/// Bytes of a page, and of its URL: a key has no more.
const MOST_BYTES: usize = 16 << 20;
const MOST_URL: usize = 4096;

/// The answer to a request.
pub enum Fetched {
    Page { bytes: Vec<u8>, content_type: String },
    Moved(Option<Url>),
    Absent,
    Unfit,
    Failed(String),
}

pub struct Site {
    start: Url,
    client: Client,
    robots: Robot,
}

impl Site {
    /// The site of this page. One whose robots.txt cannot be had now is not to be visited now.
    pub async fn of(start: Url) -> Result<Self> {
        let response = client(Policy::limited(REDIRECTS))?.get(start.join("/robots.txt")?).send().await;
        let response = response.map_err(|error| format!("robots.txt: {}", reasons(&error)))?;
        let status = response.status();
        let rules = match status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
            true => Vec::new(),
            false if status.is_success() => read(response, MOST_BYTES).await?.unwrap_or_default(),
            false => return Err(format!("robots.txt: {status}").into()),
        };
        let robots = Robot::new(AGENT, &rules).map_err(|error| format!("robots.txt: {error}"))?;
        let site = Site { start, client: client(Policy::none())?, robots };
        match site.admits(&site.start) {
            true => Ok(site),
            false => Err(format!("{} is not to be fetched, by robots.txt", site.start).into()),
        }
    }

    /// Whether a page is of this site, and may be fetched.
    pub fn admits(&self, url: &Url) -> bool {
        url.origin() == self.start.origin()
            && url.as_str().len() <= MOST_URL
            && self.robots.allowed(url.as_str())
    }

    /// The time between two requests that robots.txt asks for.
    pub fn delay(&self) -> Option<Duration> {
        self.robots.delay.and_then(|seconds| Duration::try_from_secs_f32(seconds).ok())
    }

    pub async fn get(&self, url: &Url) -> Fetched {
        self.answer(url).await.unwrap_or_else(|error| Fetched::Failed(reasons(&error)))
    }

    async fn answer(&self, url: &Url) -> reqwest::Result<Fetched> {
        let response = self.client.get(url.clone()).send().await?;
        let header = |name: HeaderName| {
            response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
        };
        let content_type = header(CONTENT_TYPE);
        let media = MediaType::parse(&content_type);
        Ok(match response.status() {
            status if status.is_redirection() => Fetched::Moved(target_of(url, &header(LOCATION))),
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
                Fetched::Failed(response.status().to_string())
            }
            status if status.is_client_error() => Fetched::Absent,
            status if !status.is_success() => Fetched::Failed(status.to_string()),
            _ if !media.is_text() && !media.is_unknown() => Fetched::Unfit,
            _ => match read(response, MOST_BYTES).await? {
                Some(bytes) => Fetched::Page { bytes, content_type },
                None => Fetched::Unfit,
            },
        })
    }
}

fn client(redirects: Policy) -> reqwest::Result<Client> {
    Client::builder().user_agent(AGENT).timeout(TIME_OUT).redirect(redirects).build()
}

/// The body of an answer, `None` when it is larger.
async fn read(mut response: Response, most: usize) -> reqwest::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if bytes.len() + chunk.len() > most {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Some(bytes))
}

/// An error with all that led to it.
fn reasons(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
