//! The authority service as the plug-ins of Apache ManifoldCF ask it: over a listener of its own, for they send no credentials. Whoever may
//! connect is told what anybody holds, so that only listed addresses may.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use ingather_model::limits;
use ingather_operations::LogEntry;
use ingather_operations::access::user_acls::{Wanted, user_acls};
use ingather_operations::problem::{Code, Problem, Result};
use ipnet::IpNet;

use crate::answers::Answers;
use crate::asking::Peer;
use crate::problems::{self, REQUEST};
use crate::proxies::network;
use crate::request::pairs;

/// Paths that the plug-ins ask: below the address that they are given, and below that of ManifoldCF's own service.
const PATHS: [&str; 2] = ["/UserACLs", "/mcf-authority-service/UserACLs"];

/// A listener for the plug-ins, and who may connect to it.
pub struct UserAcls {
    pub(crate) listener: TcpListener,
    clients: Vec<IpNet>,
}

impl UserAcls {
    /// At a listener, for clients at these addresses, each alone or with the length of a prefix; without any for those of this machine.
    ///
    /// # Errors
    /// A sentence that says which of them cannot be meant, or that other machines could reach it and none is listed.
    pub fn new(listener: TcpListener, clients: &[String]) -> std::result::Result<UserAcls, String> {
        if clients.len() > limits::PROXIES_MAX {
            return Err(format!(
                "--user-acls-client is given more than {} times; name networks",
                limits::PROXIES_MAX
            ));
        }
        let flag = "--user-acls-client";
        let clients =
            clients.iter().map(|text| network(flag, text)).collect::<std::result::Result<Vec<_>, _>>()?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        if clients.is_empty() && !address.ip().is_loopback() {
            return Err(format!(
                "--user-acls {address}: other machines reach it, and whoever asks there is told what anybody may see; name those that may \
                 with --user-acls-client, or listen on 127.0.0.1"
            ));
        }
        Ok(UserAcls { listener, clients })
    }

    /// Where they connect.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    fn may_ask(&self, from: IpAddr) -> bool {
        match self.clients.as_slice() {
            [] => from.is_loopback(),
            clients => clients.iter().any(|network| network.contains(&from)),
        }
    }
}

/// What it answers.
pub(crate) fn routes(answers: Arc<Answers>, service: Arc<UserAcls>) -> Router {
    let mut router = Router::new();
    for path in PATHS {
        router = router.route(path, get(answer));
    }
    router.with_state((answers, service))
}

async fn answer(
    State((answers, service)): State<(Arc<Answers>, Arc<UserAcls>)>,
    request: Request,
) -> Response {
    let from = match request.extensions().get::<Peer>() {
        Some(Peer::Network { from }) if service.may_ask(*from) => *from,
        _ => {
            let sentence =
                "this address may not ask; the service lists those that may with --user-acls-client";
            return problems::response(&Problem::new(Code::Forbidden, sentence));
        }
    };
    let (names, wanted) = match asked(request.uri().query().unwrap_or_default()) {
        Ok(asked) => asked,
        Err(problem) => return problems::response(&problem),
    };
    let caller = format!("{from} for {}", told(&names));
    let from = from.to_string();
    let answered = answers.work(move |context| user_acls(context, &from, &names, wanted)).await;
    answers.note(&LogEntry {
        event: "authority.user_acls",
        outcome: answered.as_ref().map_or_else(|problem| problem.code.row().word, |_| "done"),
        job: "",
        caller: &caller,
        request: &REQUEST.try_with(String::clone).unwrap_or_default(),
    });
    match answered {
        Err(problem) => problems::response(&problem),
        Ok(lines) => {
            let mut response = (StatusCode::OK, lines).into_response();
            // Every byte of it is ASCII.
            let plain = HeaderValue::from_static("text/plain; charset=ISO-8859-1");
            response.headers_mut().insert(header::CONTENT_TYPE, plain);
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response
        }
    }
}

/// Names as a log has them: nothing in one begins another line.
fn told(names: &[(String, String)]) -> String {
    let name = |(name, domain): &(String, String)| match domain.as_str() {
        "" => format!("{name:?}"),
        domain => format!("{name:?} of {domain:?}"),
    };
    names.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// The names of a person, and which lines are wanted: `username` and `domain`, or several of both with numbers behind them.
fn asked(query: &str) -> Result<(Vec<(String, String)>, Wanted)> {
    let pairs = pairs(query)?;
    let get = |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone());
    let flag = |name: &str, usual: bool| match get(name).as_deref() {
        None => Ok(usual),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(_) => Err(Problem::usage(format!("`{name}` is `true` or `false`"))),
    };
    let mut numbers = Vec::new();
    for (name, _) in &pairs {
        match name.strip_prefix("username_").map(str::parse::<u32>) {
            None => {}
            // A second spelling of the same number would name somebody else by it.
            Some(Ok(number)) if format!("username_{number}") == *name => numbers.push(number),
            Some(_) => {
                return Err(Problem::usage("a number stands behind `username_`, such as `username_1`"));
            }
        }
    }
    numbers.sort_unstable();
    let whole = get("username").map(|name| (name, get("domain").unwrap_or_default()));
    let numbered = numbers.iter().filter_map(|number| {
        Some((get(&format!("username_{number}"))?, get(&format!("domain_{number}")).unwrap_or_default()))
    });
    let names: Vec<(String, String)> = whole.into_iter().chain(numbered).collect();
    if names.is_empty() || names.len() > limits::USERS_OF_A_QUESTION_MAX {
        let most = limits::USERS_OF_A_QUESTION_MAX;
        return Err(Problem::usage(format!(
            "give `username`, or `username_1` and so on, at most {most} of them"
        )));
    }
    Ok((names, Wanted { acls: flag("aclneeded", true)?, ids: flag("idneeded", false)? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_names_a_person_by_one_name_or_several() {
        let names = |all: &[(&str, &str)]| {
            all.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Vec<_>>()
        };
        let both = |acls, ids| Wanted { acls, ids };
        for (query, expected, wanted) in [
            ("username=ann", &[("ann", "")][..], both(true, false)),
            ("username=a%26b+c&domain=acme&idneeded=true", &[("a&b c", "acme")], both(true, true)),
            ("domain_1=d&username_1=bob&username_0=ann", &[("ann", ""), ("bob", "d")], both(true, false)),
            ("username=x&username_7=y&aclneeded=false", &[("x", ""), ("y", "")], both(false, false)),
            ("username=", &[("", "")], both(true, false)),
        ] {
            assert_eq!(asked(query).ok(), Some((names(expected), wanted)), "{query}");
        }
        let many: String =
            (0..=limits::USERS_OF_A_QUESTION_MAX).map(|n| format!("username_{n}=a&")).collect();
        for wrong in [
            "",
            "domain=d",
            "username=a&username=b",
            "username_x=a",
            "username_01=a",
            "username=a&aclneeded=1",
            "username=%ff",
            &many,
        ] {
            assert!(asked(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_addresses_of_this_machine_or_those_that_are_listed_may_ask() {
        let listener = |address: &str| TcpListener::bind(address).unwrap();
        let list = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let own = UserAcls::new(listener("127.0.0.1:0"), &[]).ok().unwrap();
        assert!(own.may_ask(ip("127.0.0.1")) && own.may_ask(ip("::1")) && !own.may_ask(ip("10.0.0.7")));
        let listed = UserAcls::new(listener("127.0.0.1:0"), &list(&["10.0.0.0/24"])).ok().unwrap();
        assert!(
            listed.may_ask(ip("10.0.0.7"))
                && !listed.may_ask(ip("10.0.1.7"))
                && !listed.may_ask(ip("127.0.0.1"))
        );
        let said = UserAcls::new(listener("0.0.0.0:0"), &[]).err().unwrap();
        assert!(said.contains("--user-acls-client"), "{said}");
        assert!(
            UserAcls::new(listener("0.0.0.0:0"), &list(&["10.0.0.1/24"]))
                .err()
                .unwrap()
                .contains("--user-acls-client")
        );
    }
}
