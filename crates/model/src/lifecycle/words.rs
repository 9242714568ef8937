//! Enumerations whose members are words: in the store's constraints, the API, the manual and metrics.

/// Makes an enumeration with its words, so that the list of members, the words of the store's constraint and the
/// parser are one text.
///
/// A macro because nothing else can list the members of an enumeration, and eight lists kept by hand would drift.
macro_rules! words {
    ($(#[$doc:meta])* pub enum $name:ident { $($(#[$member_doc:meta])* $member:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$member_doc])* #[serde(rename = $word)] $member,)+
        }

        impl $name {
            /// Every member, in the order of the table.
            pub const ALL: &'static [$name] = &[$($name::$member,)+];
            /// Every word, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word,)+];

            /// The word.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$member => $word,)+ }
            }

            /// The member that is called `word`; none when there is no such word.
            pub fn parse(word: &str) -> Option<$name> {
                match word { $($word => Some($name::$member),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use words;
