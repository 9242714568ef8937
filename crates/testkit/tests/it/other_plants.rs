//! Transforms and authorities with one fault each.

use std::borrow::Cow;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ingather_contract::authority::{Account, Answer, Authority, AuthorityKind, Presented, Whose};
use ingather_contract::call::CallContext;
use ingather_contract::settings::{NoSettings, schema_of};
use ingather_contract::transform::{Item, Transform, TransformKind, Verdict};
use ingather_model::access::{Acl, Tokens};
use ingather_model::fault::Fault;
use ingather_model::limits;
use ingather_testkit::suites::{AuthoritySample, authority_breaches, transform_breaches};

#[derive(Clone, Copy, PartialEq)]
enum Plant {
    None,
    KeepsEverything,
    Panics,
    SwallowsErrors,
    Counts,
    FirstPieceOnly,
    ChangesTheAddress,
    OpensUnsaid,
}

struct Stage(Plant, AtomicU64);

impl Transform for Stage {
    fn apply(&self, _call: &CallContext, item: &mut Item<'_>) -> Result<Verdict, Fault> {
        let Item { record, content, .. } = item;
        let failed = |error: std::io::Error| Fault::passing("read", error.to_string());
        let mut bytes = Vec::new();
        let most = if self.0 == Plant::KeepsEverything { u64::MAX } else { limits::BODY_BYTES_MAX as u64 };
        let read = match self.0 {
            Plant::FirstPieceOnly => {
                let mut piece = vec![0; 64];
                let count = content.read(&mut piece).map_err(failed)?;
                bytes.extend_from_slice(&piece[..count]);
                Ok(count)
            }
            _ => content.take(most).read_to_end(&mut bytes),
        };
        if self.0 != Plant::SwallowsErrors {
            read.map_err(failed)?;
        }
        let mut body = match (self.0, String::from_utf8(bytes)) {
            (Plant::Panics, text) => text.expect("a planted fault"),
            (_, text) => text.unwrap_or_default(),
        };
        match self.0 {
            Plant::Counts => body.push_str(&self.1.fetch_add(1, Ordering::Relaxed).to_string()),
            Plant::ChangesTheAddress => record.uri.push('x'),
            _ => {}
        }
        record.body = Some(body);
        Ok(Verdict::Pass)
    }

    fn access<'l>(&self, acl: Cow<'l, Acl>) -> Cow<'l, Acl> {
        if self.0 == Plant::OpensUnsaid { Cow::Owned(Acl::open()) } else { acl }
    }
}

macro_rules! stages {
    ($($name:ident: $plant:ident is told by $word:literal;)*) => {
        $(
            #[test]
            fn $name() {
                static KIND: TransformKind = TransformKind {
                    name: "planted",
                    about: "has one fault, or none",
                    version: "1",
                    schema: schema_of::<NoSettings>,
                    open: |_| Ok(Arc::new(Stage(Plant::$plant, AtomicU64::new(0)))),
                };
                let told = transform_breaches(&KIND, &serde_json::json!({}), &[("a.txt", b"one two")]);
                assert_eq!(told.is_empty(), $word.is_empty(), "{told:#?}");
                assert!(told.is_empty() || told.iter().any(|told| told.contains($word)), "{told:#?}");
            }
        )*
    };
}

stages! {
    a_sound_stage_passes: None is told by "";
    a_body_without_bounds: KeepsEverything is told by "bytes of content";
    a_panic: Panics is told by "it panics on";
    errors_of_the_content_swallowed: SwallowsErrors is told by "is not passed on";
    another_result_each_time: Counts is told by "another result the second time";
    the_first_piece_only: FirstPieceOnly is told by "in small pieces";
    an_address_that_changes: ChangesTheAddress is told by "the address of";
    access_that_is_ruled_and_not_said: OpensUnsaid is told by "does not say that it rules access";
}

#[derive(Clone, Copy, PartialEq)]
enum Door {
    Sound,
    EverybodyHolds,
    TrimsNames,
    NeverWhole,
    WholeInPart,
    MoreInPart,
    ChecksNothing,
    OpenWhenDown,
    /// It knows people by tokens alone, which are `it is NAME`.
    ByToken,
    NeedsNoToken,
    TakesTokensOfOthers,
    BelievesAnyToken,
    SaysNothingOfTokens,
}

impl Door {
    fn is_by_token(self) -> bool {
        self as u8 >= Door::ByToken as u8
    }

    /// Whose a token is.
    fn person(self, token: &str) -> Option<&str> {
        match self {
            Door::BelievesAnyToken => Some("anna"),
            _ => token.strip_prefix("it is ").filter(|name| *name == "anna"),
        }
    }
}

/// Whether somebody has cut what it reads, and whether it cannot be asked.
struct Keeper(Door, Arc<[AtomicBool; 2]>);

impl Authority for Keeper {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        let down = self.1[1].load(Ordering::Relaxed);
        match down && self.0 != Door::ChecksNothing {
            true => Err(Fault::passing("down", "the directory does not answer")),
            false => Ok("the directory answers".to_owned()),
        }
    }

    fn tokens(&self, _call: &CallContext, account: &Account<'_>) -> Result<Answer, Fault> {
        let user = account.name;
        if self.0.is_by_token() && self.0 != Door::NeedsNoToken {
            let person = account.presented.and_then(|presented| self.0.person(presented.token()));
            let is_theirs = person == Some(user) || person.is_some() && self.0 == Door::TakesTokensOfOthers;
            if !is_theirs {
                return Err(Fault::refused("presented", "it knows people by their own tokens alone"));
            }
        }
        let [cut, down] = [0, 1].map(|at| self.1[at].load(Ordering::Relaxed));
        let name = if self.0 == Door::TrimsNames { user.trim() } else { user };
        let known = |tokens: &[&str]| tokens.iter().copied().collect::<Tokens>();
        let anna = match (cut, self.0) {
            (true, Door::WholeInPart) => known(&["t:anna"]),
            (true, Door::MoreInPart) => known(&["t:anna", "t:root"]).not_whole(),
            (true, _) => known(&["t:anna"]).not_whole(),
            (false, Door::NeverWhole) => known(&["t:anna", "t:staff"]).not_whole(),
            (false, _) => known(&["t:anna", "t:staff"]),
        };
        Ok(match name {
            _ if down && self.0 == Door::OpenWhenDown => Answer::Known(known(&["everything"])),
            _ if down => return Err(Fault::passing("down", "the directory does not answer")),
            "anna" => Answer::Known(anna),
            _ if self.0 == Door::TakesTokensOfOthers => Answer::Known(anna),
            _ if self.0 == Door::EverybodyHolds => Answer::Known(known(&["everyone"])),
            _ => Answer::Unknown,
        })
    }

    fn whose(&self, _call: &CallContext, presented: &Presented, _within: Duration) -> Result<Whose, Fault> {
        let person = self.0.person(presented.token());
        let person = person.filter(|_| self.0.is_by_token() && self.0 != Door::SaysNothingOfTokens);
        Ok(match person {
            Some(name) => Whose::Person { name: name.to_owned(), until: 0 },
            None => Whose::NotOurs,
        })
    }
}

thread_local! {
    /// Those of the authority of one test.
    static FLAGS: Arc<[AtomicBool; 2]> = Arc::default();
}

macro_rules! doors {
    ($($name:ident: $plant:ident is told by $word:literal;)*) => {
        $(
            #[test]
            fn $name() {
                static KIND: AuthorityKind = AuthorityKind {
                    name: "planted",
                    about: "has one fault, or none",
                    schema: schema_of::<NoSettings>,
                    kept: Duration::ZERO,
                    open: |_, _| Ok(Arc::new(Keeper(Door::$plant, FLAGS.with(Arc::clone)))),
                };
                let set = |at: usize| FLAGS.with(|flags| flags[at].store(true, Ordering::Relaxed));
                let told = authority_breaches(&KIND, &AuthoritySample {
                    settings: serde_json::json!({}),
                    known: Some(("anna", &["t:anna", "t:staff"])),
                    presented: Door::$plant.is_by_token().then_some("it is anna"),
                    cut: Some(&|| set(0)),
                    obstruct: Some(&|| set(1)),
                });
                assert_eq!(told.is_empty(), $word.is_empty(), "{told:#?}");
                assert!(told.is_empty() || told.iter().any(|told| told.contains($word)), "{told:#?}");
            }
        )*
    };
}

doors! {
    a_sound_authority_passes: Sound is told by "";
    tokens_for_the_unknown: EverybodyHolds is told by "\"nobody-of-this-name\" is nobody";
    names_that_are_nearly_known: TrimsNames is told by "is nobody";
    parts_of_nothing: NeverWhole is told by "the answer is not whole";
    parts_that_are_called_whole: WholeInPart is told by "and the answer is whole";
    tokens_that_appear_where_others_are_hidden: MoreInPart is told by "holds t:root only where";
    good_whatever_is_down: ChecksNothing is told by "and check says";
    open_when_it_is_down: OpenWhenDown is told by "it cannot be asked";
    a_sound_authority_by_tokens_passes: ByToken is told by "";
    somebody_who_presents_nothing: NeedsNoToken is told by "has presented nothing";
    tokens_of_somebody_else: TakesTokensOfOthers is told by "is nobody, and the answer is";
    tokens_that_prove_nothing: BelievesAnyToken is told by "is the token of nobody, and it says";
    tokens_that_are_not_known_again: SaysNothingOfTokens is told by "is that of anna, and it says";
}
