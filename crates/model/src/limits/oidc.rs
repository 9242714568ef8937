//! table: bounds of tokens of OpenID providers, and of questions to these, each with its reason.

/// Bytes of a token that is looked at: what the head of a request holds beside others; providers name 200 groups in 12 KB.
pub const OIDC_TOKEN_BYTES_MAX: usize = 16 << 10;
/// Bytes of an answer of a provider: a hundred keys with their certificates, or somebody with many groups.
pub const OIDC_ANSWER_BYTES_MAX: u64 = 1 << 20;
/// Keys of a provider that are looked at; the large ones publish some ten.
pub const OIDC_KEYS_MAX: usize = 64;
/// How long keys count before the provider is asked for them again, unless an authority says otherwise, milliseconds.
pub const OIDC_KEYS_MS: u32 = 600_000;
/// The shortest and the longest such time: twice [`OIDC_KEYS_AGAIN_MS`], for keys have to last until the provider may be asked again, and a day is as
/// long as a key that was withdrawn may count.
pub const OIDC_KEYS_MS_MIN: u32 = 10_000;
/// See [`OIDC_KEYS_MS_MIN`].
pub const OIDC_KEYS_MS_MAX: u32 = 86_400_000;
/// How long keys go on while the provider cannot be asked, unless an authority says otherwise, milliseconds: an outage within working hours.
pub const OIDC_KEYS_AWAY_MS: u32 = 3_600_000;
/// A provider is asked for its keys no more often than this, milliseconds, whatever keys tokens name that anybody may have made up.
pub const OIDC_KEYS_AGAIN_MS: i64 = 5_000;
/// Questions that wait for keys of one authority at once, beside the one that asks for them: with two providers that hang, people of a third
/// one still have places among [`HTTP_TOKENS_MAX`](super::HTTP_TOKENS_MAX).
pub const OIDC_WAITING_MAX: usize = 2;
/// By how many seconds the clock of a provider may differ, unless an authority says otherwise.
pub const OIDC_LEEWAY_S: u32 = 30;
/// The most seconds that an authority may say: beyond that a token that has expired would count.
pub const OIDC_LEEWAY_S_MAX: u32 = 300;
/// Audiences, and clients, of one authority.
pub const OIDC_AUDIENCES_MAX: usize = 64;
/// Bytes of a name, an address or a claim in the settings.
pub const OIDC_TEXT_BYTES_MAX: usize = 1_024;
/// Names in the path of a claim.
pub const OIDC_PATH_MAX: usize = 8;
/// Groups of one person, unless an authority says otherwise.
pub const OIDC_GROUPS: usize = 10_000;
