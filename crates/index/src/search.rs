//! Searching: the queries of people, answered from the last commit, while a writer works or not.

pub(crate) mod best;
pub(crate) mod copies;
pub(crate) mod explain;
pub(crate) mod facets;
pub(crate) mod keys;
pub(crate) mod rank;
pub(crate) mod rarity;
pub(crate) mod snippet;
pub(crate) mod spelling;

use std::path::Path;
use std::sync::{Arc, Mutex};

use ingather_contract::output::{Generation, Search};
use ingather_contract::search::{Correction, Hit, SearchRequest, SearchResults};
use ingather_model::fault::Fault;
use ingather_model::limits;
use tantivy::schema::Value;
use tantivy::{Index, IndexReader, ReloadPolicy, TantivyDocument};

use crate::committed::Snapshot;
use crate::damage;
use crate::directory::{self, CommitMetadata, IndexDirectory};
use crate::entry::Stored;
use crate::query;
use crate::query::build::Highlights;
use crate::query::plan::{Plan, Reading};
use crate::query::resolve::Resolver;
use crate::query::unanswered::Unanswered;
use crate::query::visible::Visible;
use crate::schema::{FORMAT, FORMAT_SEARCHED_MIN, Fields};
use crate::search::rank::{Page, Ranked, Ranking};
use crate::search::rarity::Rarity;
use crate::search::spelling::Speller;

/// What an index of an older format cannot do, until it is rebuilt.
const OLD_FORMAT: &str = "the search index is of an older version: until the next `ingather sync` has rebuilt it, half-width katakana and \
                          letters of Arabic and Hebrew are found as they were written alone, and parts of Dutch compounds not at all; where \
                          it is older still, parts of German compounds, `C++` and `C#` are not found, hits cannot be ordered by title or path, and entries with the same \
                          text are each shown";
/// Commits that may come in between before an index counts as opened as it is.
const ATTEMPTS_MAX: usize = 100;

/// The index, opened for search; never waits for a writer and is never in its way.
pub struct Searcher {
    directory: IndexDirectory,
    index: Index,
    reader: IndexReader,
    fields: Fields,
    commit_metadata: CommitMetadata,
    /// What the last users saw of this commit.
    visible: Mutex<Vec<Arc<Visible>>>,
}

impl Searcher {
    /// Opens the index in a data directory that belongs to this store; none when there is none yet.
    ///
    /// # Errors
    /// `Refused` or `Broken` with what to do when it is another store's, of another format, damaged or cannot be read.
    pub fn open(data: &Path, store: &str) -> Result<Option<Searcher>, Fault> {
        let directory = IndexDirectory::of(data);
        if !directory.exists() {
            return Ok(None);
        }
        damage::guarded(&directory.path, || {
            for _ in 0..ATTEMPTS_MAX {
                let (index, commit_metadata) = directory.open_to_look()?;
                let opened = Searcher::attempt(&directory, index.clone(), commit_metadata.clone(), store);
                // A commit that comes in between takes files away, and shows entries that the one before does not speak of.
                if directory::commit_metadata(&index, &directory.path)? == commit_metadata {
                    return opened.map(Some);
                }
            }
            let sentence = format!(
                "{} is committed to faster than it can be opened; try again",
                directory.path.display()
            );
            Err(Fault::passing("index_busy", sentence))
        })
    }

    fn attempt(
        directory: &IndexDirectory,
        index: Index,
        commit_metadata: CommitMetadata,
        store: &str,
    ) -> Result<Searcher, Fault> {
        if commit_metadata.store != store {
            return Err(directory.foreign());
        }
        if commit_metadata.format < FORMAT_SEARCHED_MIN {
            let message = format!(
                "the search index {} is of an older format; the next `ingather sync` or `ingather serve` rebuilds it",
                directory.path.display()
            );
            return Err(Fault::refused(crate::OLDER, message));
        }
        let fault = |error| damage::fault(error, &directory.path);
        let reader: IndexReader =
            index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().map_err(fault)?;
        let fields = Fields::of(&index.schema()).map_err(fault)?;
        Ok(Searcher {
            directory: directory.clone(),
            index,
            reader,
            fields,
            commit_metadata,
            visible: Mutex::default(),
        })
    }

    /// The commit that is seen, for lookups.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.reader)
    }

    /// Its fields.
    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Which index this is, and which commit is seen; what is seen may already be a little newer.
    pub fn identity_and_generation(&self) -> Generation {
        self.commit_metadata.generation()
    }

    /// Whether opening the index now would show the same commit.
    pub fn is_current(&self) -> bool {
        let last = || directory::commit_metadata(&self.index, &self.directory.path);
        damage::guarded(&self.directory.path, last).is_ok_and(|last| last == self.commit_metadata)
    }

    /// Answers a query.
    ///
    /// # Errors
    /// `Refused` with code `query` and a sentence that names the place when the query cannot be understood.
    pub fn search(&self, request: &SearchRequest<'_>) -> Result<SearchResults, Fault> {
        damage::guarded(&self.directory.path, || self.answer(request))
    }

    fn answer(&self, request: &SearchRequest<'_>) -> Result<SearchResults, Fault> {
        let last = request.offset.saturating_add(request.limit);
        if last > limits::SEARCH_HITS_MAX {
            let message =
                format!("a search reaches the first {} hits; narrow the query", limits::SEARCH_HITS_MAX);
            return Err(Fault::refused("query", message));
        }
        let query::Parsed { node, mut notes } = query::parse(request.query, request.zone)?;
        if self.commit_metadata.format < FORMAT {
            notes.push(OLD_FORMAT.to_owned());
        }
        let searcher = self.reader.searcher();
        let visible = self.visible(&searcher, request)?;
        let page = Page {
            offset: request.offset,
            limit: request.limit,
            order: request.sort,
            facets: request.facets,
            folds: request.folds,
        };
        let fault = |error| self.fault(error);
        let resolver = Resolver {
            searcher: &searcher,
            fields: &self.fields,
            visible: &visible,
            jobs: request.jobs,
            moved: request.moved,
        };
        let node = resolver.resolve(node, &mut notes).map_err(|error| error.fault(&self.directory.path))?;
        let view = View { searcher: &searcher, fields: &self.fields, visible: &visible, page: &page };
        let mut asked =
            view.ask(&node, Reading::default()).map_err(|error| error.fault(&self.directory.path))?;
        if asked.ranked.total == 0 && asked.plan.has_phrases {
            let reading = Reading { phrases_are_words: true, ..asked.reading };
            asked = view.ask(&node, reading).map_err(|error| error.fault(&self.directory.path))?;
            notes.push(
                "nothing has the words in quotes next to each other, so that they are searched as words"
                    .to_owned(),
            );
        }
        let Asked { reading, plan, rarity, ranked } = asked;
        let mut hits = Vec::with_capacity(ranked.hits.len());
        for ranked in ranked.hits {
            let mut hit = self.hit(&searcher, &visible, ranked, &plan.highlights)?;
            if let (Some(field), Some(text)) = (self.fields.text_bucket, ranked.text) {
                let same = copies::count(&searcher, field, &visible, text).map_err(fault)?;
                hit.copies = same.saturating_sub(1);
            }
            if let Some(first) = ranked.copy_of {
                let first: TantivyDocument = searcher.doc(first).map_err(fault)?;
                hit.copy_of =
                    Some(Stored::of(&first, self.fields.stored_schema())?.stored_fields.id.into_owned());
            }
            if request.explain {
                let words = explain::explain(&searcher, &visible, &plan.leaves, &rarity, ranked.at);
                hit.explanation = words.map_err(fault)?;
            }
            hits.push(hit);
        }
        notes.extend(plan.notes);
        let (total, complete, facets) = (ranked.total, ranked.complete, ranked.facets);
        let corrections = reading.corrections.into_iter().map(|(typed, used)| Correction { typed, used });
        Ok(SearchResults { hits, total, complete, notes, corrections: corrections.collect(), facets })
    }

    /// What the user sees, which is kept for the next search of the same user.
    fn visible(
        &self,
        searcher: &tantivy::Searcher,
        request: &SearchRequest<'_>,
    ) -> Result<Arc<Visible>, Fault> {
        let mut kept = self.visible.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = kept.iter().find(|known| known.is_of(&request.access_filter)) {
            return Ok(Arc::clone(known));
        }
        let access_filter = Arc::clone(&request.access_filter);
        let new = Visible::of(searcher, &self.fields, access_filter).map_err(|error| self.fault(error))?;
        let new = Arc::new(new);
        if kept.len() >= limits::SEARCH_USERS_KEPT {
            kept.remove(0);
        }
        kept.push(Arc::clone(&new));
        Ok(new)
    }

    fn hit(
        &self,
        searcher: &tantivy::Searcher,
        visible: &Visible,
        Ranked { at, score, is_complete, .. }: Ranked,
        highlights: &Highlights,
    ) -> Result<Hit, Fault> {
        let fault = |error| self.fault(error);
        let document: TantivyDocument = searcher.doc(at).map_err(fault)?;
        let stored_fields = Stored::of(&document, self.fields.stored_schema())?.stored_fields;
        let numbers = visible.columns[at.segment_ord as usize].numbers(at.doc_id);
        let body = document.get_first(self.fields.body);
        Ok(Hit {
            job: numbers.job,
            job_name: stored_fields.job_name.to_string(),
            component: stored_fields.component(),
            uri: stored_fields.uri().to_owned(),
            link: stored_fields.link().map(str::to_owned),
            title: stored_fields.shown_title().to_owned(),
            score,
            has_all_words: is_complete,
            explanation: Vec::new(),
            copies: 0,
            copy_of: None,
            snippet: snippet::of(
                body.as_ref().and_then(|body| body.as_str()).unwrap_or_default(),
                highlights,
            ),
            modified: numbers.modified,
            size: numbers.size,
            document: stored_fields.document.into_owned(),
            media_type: stored_fields.media_type.map(Into::into),
            language: stored_fields.language.map(Into::into),
            author: stored_fields.author.map(Into::into),
            path: stored_fields.path.into_owned(),
        })
    }

    fn fault(&self, error: tantivy::TantivyError) -> Fault {
        damage::fault(error, &self.directory.path)
    }
}

/// A commit as one user asks it.
struct View<'a> {
    searcher: &'a tantivy::Searcher,
    fields: &'a Fields,
    visible: &'a Visible,
    page: &'a Page,
}

/// What came of a query.
struct Asked {
    reading: Reading,
    plan: Plan,
    rarity: Rarity,
    ranked: Ranking,
}

impl View<'_> {
    /// Asks a query, with what is nearest in the place of bare words that nothing has.
    fn ask(&self, node: &query::Node, mut reading: Reading) -> Result<Asked, Unanswered> {
        let View { searcher, fields, visible, page } = *self;
        let mut plan = Plan::of(node, (searcher, fields), visible, &reading)?;
        let mut rarity = Rarity::of(searcher, visible, &plan.leaves)?;
        // What stands in quotes is meant as it is.
        if reading.corrections.is_empty() && !reading.phrases_are_words {
            let speller = Speller { searcher, fields, visible };
            reading.corrections = spelling::corrections(&speller, plan.unknown(&rarity))?;
            if !reading.corrections.is_empty() {
                plan = Plan::of(node, (searcher, fields), visible, &reading)?;
                rarity = Rarity::of(searcher, visible, &plan.leaves)?;
            }
        }
        if plan.needs_small_words(&rarity) {
            reading.keeps_small_words = true;
            plan = Plan::of(node, (searcher, fields), visible, &reading)?;
            rarity = Rarity::of(searcher, visible, &plan.leaves)?;
        }
        let ranked = rank::rank(searcher, visible, &plan.wanted(), &rarity, page)?;
        Ok(Asked { reading, plan, rarity, ranked })
    }
}

impl Search for Searcher {
    fn generation(&self) -> Generation {
        self.identity_and_generation()
    }

    fn is_current(&self) -> bool {
        Searcher::is_current(self)
    }

    fn search(&self, request: &SearchRequest<'_>) -> Result<SearchResults, Fault> {
        Searcher::search(self, request)
    }
}
