# SPDX-License-Identifier: Apache-2.0
"""Pushes records into a source of an Ingather service. One file, for Python 3.9 and later, of the standard library alone.

    client = Client("https://ingather.example.org", api_key)
    source = client.source("tickets")
    results = source.push({"key": str(n), "text": text} for n, text in enumerate(texts))
    reports = source.wait(results)
    with source.delta_run() as run:  # what is not pushed in the block is deleted at its end
        run.push(everything())

`clients/README.md` says more. A client keeps nothing between calls but what it was made with: any number of threads may share it.
"""

from __future__ import annotations

import hashlib
import http.client
import ipaddress
import json
import random
import secrets
import ssl
import time
import urllib.parse
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Literal, NamedTuple, Optional, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired

# generated: types and bounds of the service; `cargo x generate` writes them, and changes here are lost
RECORDS_AT_ONCE_MAX = 1000  # Records in one call.
RECORDS_BYTES_MAX = 8388608  # Bytes of the body of one call.
RECORD_KEY_BYTES_MAX = 4096  # Bytes of a key, in UTF-8.
RECORD_HASH_BYTES_MAX = 1024  # Bytes of a hash, in UTF-8.

class PushedItem(TypedDict):
    """One record, in place of all that was pushed of it before; or the end of one."""
    key: str  # What names it in its source: an address, or any text. Slashes make folders of it.
    delete: NotRequired[bool]  # It is deleted; nothing but its key and its version counts.
    hash: NotRequired[Union[str, None]]  # Tells its versions; only compared.
    version: NotRequired[Union[int, None]]  # What its client counts its versions by: what has a lower number than what was taken of it before is stale, and changes nothing. For several clients that may overtake each other.
    if_changed: NotRequired[bool]  # Nothing is done where it is there with this hash already.
    compound: NotRequired[Union[Union[Literal["keep"], Literal["drop"]], None]]  # Others are in it, such as of an archive or a folder: while its hash stays, so do they; when it is deleted, so are they. In a delta run its hash counts once that is finished.
    parents: NotRequired[List[str]]  # Keys of the compounds that it is in; these need not be there. In a delta run they are added to those that it was in.
    access: NotRequired[Union[List[str], None]]  # Who may see it: access tokens, or `everybody` alone; nobody, where the list is empty. As the source says when left out.
    deny: NotRequired[Union[List[str], None]]  # Who may not, whatever else they hold. Only with `access`.
    title: NotRequired[Union[str, None]]  # Title.
    text: NotRequired[Union[str, None]]  # Its content as text.
    content: NotRequired[Union[str, None]]  # Its content as bytes of any format that is read, in base64.
    file: NotRequired[Union[str, None]]  # Its content as a file of the machine of the service, below the folder of the source (`files`).
    media_type: NotRequired[Union[str, None]]  # Media type of the content; `text/plain` of a text.
    language: NotRequired[Union[str, None]]  # ISO 639-1 code of its language.
    author: NotRequired[Union[str, None]]  # Author or owner.
    modified: NotRequired[Any]  # Last change: milliseconds since 1970 UTC, or a text such as `2026-11-27T09:00:00Z`.
    created: NotRequired[Any]  # When it was made, likewise.
    user_ref: NotRequired[Union[str, None]]  # What comes back with each report of a channel; only handed through.
    fields: NotRequired[Dict[str, Any]]  # Everything else: texts, numbers, truth values, lists of them, and objects of them, whose names are joined by dots.

class PushResultPending(TypedDict):
    """It is on disk, and is done."""
    result: Literal["pending"]
    ticket: int  # Number of its ticket.
    was_there: NotRequired[Union[bool, None]]  # The record was there before; left out where that was not looked at.

class PushResultCompleted(TypedDict):
    """Its ticket is completed already. Only through a channel."""
    result: Literal["completed"]
    ticket: int  # Number of its ticket.
    outcome: str  # As in `TicketReport::outcome`.
    code: str  # Why, a stable word; empty where it went well.
    message: str  # Why, in a sentence.

class PushResultUnchanged(TypedDict):
    """It is there with this hash already; nothing is done."""
    result: Literal["unchanged"]

class PushResultRefused(TypedDict):
    """It was not taken, and nothing of it is kept."""
    result: Literal["refused"]
    code: str  # Why, a stable word.
    message: str  # Why, in a sentence.

#: What became of one record.
PushResult = Union[PushResultPending, PushResultCompleted, PushResultUnchanged, PushResultRefused]

class TicketReport(TypedDict):
    """What became of a ticket."""
    report: int  # Its place among all reports.
    at: int  # When that was known, milliseconds since 1970 UTC.
    outcome: str  # `indexed`, `unchanged`, `deleted`, `noop`, `superseded`, `stale`, `skipped`, `failed` or `aborted`.
    code: str  # Why, a stable word; empty where it went well.
    message: str  # Why, in a sentence.

class TicketLook(TypedDict):
    """A ticket."""
    ticket: int  # Its number.
    source: str  # Name of the job of the source.
    key: str  # Key of the record.
    op: str  # `put` or `delete`.
    accepted_at: int  # When it was accepted, milliseconds since 1970 UTC.
    report: NotRequired[Union[TicketReport, None]]  # What became of it; none while it is open.

class ListedReport(TypedDict):
    """One report."""
    report: int  # Its place among all reports.
    ticket: int  # Number of the ticket.
    key: str  # Key of the record.
    op: str  # `put` or `delete`.
    accepted_at: int  # When it was accepted, milliseconds since 1970 UTC.
    at: int  # When this was known.
    outcome: str  # As in `TicketReport::outcome`.
    code: str  # Why, a stable word; empty where it went well.
    message: str  # Why, in a sentence.

#: How a delta run goes over its source.
DeltaMode = Union[Literal["full"], Literal["additive"]]

#: What a check found of one record.
CheckedItem = Union[Literal["new"], Literal["changed"], Literal["unchanged"]]

class HeldObsolete(TypedDict):
    """Records that a delta run would delete."""
    obsolete: int  # So many.
    records: int  # Of so many.

class EndedDeltaRun(TypedDict):
    """How a delta run ended."""
    run: int  # The delta run.
    deleted: int  # Records that it has not met, and that are deleted.
    veto: NotRequired[Union[str, None]]  # Why nothing was deleted.
    held: NotRequired[Union[HeldObsolete, None]]  # It goes on: so much would be deleted that somebody has to confirm it (`confirm`).

class DeltaRunLook(TypedDict):
    """How a source stands."""
    source: str  # Name of the job of the source.
    run: NotRequired[Union[int, None]]  # Its last delta run; none where there was none, and then nothing is said of one.
    mode: str  # `full` or `additive`.
    client: str  # Who opened it.
    state: str  # `open`, `finished`, `rolled_back`, `expired` or `unlocked`.
    opened_at: int  # When it was opened, milliseconds since 1970 UTC.
    seen_at: int  # The last sign of life of its client.
    lease_seconds: int  # How long after that it is its client's.
    ended_at: NotRequired[Union[int, None]]  # When it ended.
    touched: int  # Records that its client could not read.
    veto: NotRequired[Union[str, None]]  # Why it deleted nothing.
    deleted: int  # Records that it deleted.
    drained_at: NotRequired[Union[int, None]]  # When nothing of what was pushed until its end was open any more, and outputs had committed it.
    of: NotRequired[Union[str, None]]  # Key of the compound that it goes over; none: over the whole source.
    records: int  # Records of the source.
    buffered: int  # Records of which something is buffered.
    buffered_since: NotRequired[Union[int, None]]  # Since when the first of these is, milliseconds since 1970 UTC.
# end of what is generated

#: Bytes of an answer that are read.
ANSWER_BYTES_MAX = 64 << 20
#: Bytes that are left in the body of a call for what stands beside its records.
ENVELOPE_BYTES = 1_024
#: Answers that say nothing of the request itself: it is sent again.
PASSING = (429, 502, 503, 504)
#: The longest wait before a request is sent again, where the answer names none, and between two looks at a ticket: seconds.
PAUSE_MAX, LOOK_MAX = 20.0, 1.0
#: Attempts at giving a delta run up after a failure, which is to be told soon.
ROLLBACK_ATTEMPTS = 3
#: What says that the service has not taken a body: nothing was done with any of its records.
NOT_TAKEN = ("too_large", "wrong_use")


class IngatherError(Exception):
    """Why something was not done.

    `status` is that of the answer over HTTP; 0 where there was none. `code` is a stable word: one of the service, or `unreachable`,
    `certificate`, `bad_answer`, `http`, `timeout`, `deletions_held` or `nothing_pushed`. `message` is a sentence, `next_step` says what to do.
    """

    def __init__(self, status: int, code: str, message: str, next_step: str, retry_after: Optional[float] = None):
        super().__init__(f"{message} [{code}] {next_step}")
        self.status, self.code, self.message, self.next_step, self.retry_after = status, code, message, next_step, retry_after


class Client:
    """A service, and the API key by which it is asked; the key needs the role `pusher`.

    `ca_file`: certificates in PEM of those who vouch for the service, instead of those of the system. `timeout`: seconds without an answer
    after which an attempt has failed. A request is sent at most `attempts` times within `retry_seconds`. Over `http:` a key is sent to this
    machine alone, unless `allow_http` says that nobody listens on the way. A call has at most `records_at_once` records and `bytes_at_once` bytes,
    or a single record that is longer: what a program that has little memory says; never more than the service takes.
    """

    def __init__(self, url: str, api_key: str, *, ca_file: Optional[str] = None, timeout: float = 60.0, attempts: int = 8,
                 retry_seconds: float = 300.0, allow_http: bool = False, records_at_once: int = RECORDS_AT_ONCE_MAX,
                 bytes_at_once: int = RECORDS_BYTES_MAX):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
            raise ValueError(f"{url!r} is no address of a service; give https://HOST:PORT")
        if parts.scheme == "http" and not allow_http and not _is_here(parts.hostname):
            raise ValueError(f"{url!r} is another machine, and http: encrypts nothing; use https:, or say allow_http=True")
        if not api_key or not api_key.isascii() or not api_key.isprintable():
            raise ValueError("an API key is a text of ASCII characters; `ingather api-key create NAME --role pusher` makes one")
        self._parts, self._key, self._timeout = parts, api_key, timeout
        self._attempts, self._retry_seconds = max(1, attempts), retry_seconds
        self._records_at_once, self._bytes_at_once = min(records_at_once, RECORDS_AT_ONCE_MAX), min(bytes_at_once, RECORDS_BYTES_MAX)
        self._tls = ssl.create_default_context(cafile=ca_file) if parts.scheme == "https" else None

    def source(self, name: str) -> Source:
        """The source of this name. Whether it is there is told by the first call that asks it."""
        return Source(self, name)

    def ticket(self, number: int) -> TicketLook:
        """What became of one push."""
        return self._call("GET", f"/tickets/{int(number)}")

    def _call(self, method: str, path: str, body: Optional[bytes] = None, attempts: Optional[int] = None) -> Any:
        """One request, sent again where its answer was lost; by its key the service knows it, and does it once."""
        headers = {"Authorization": f"Bearer {self._key}", "Accept": "application/json", "User-Agent": "ingather-python"}
        if body is not None:
            headers.update({"Content-Type": "application/json", "Idempotency-Key": secrets.token_hex(16)})
        end, most = time.monotonic() + self._retry_seconds, attempts or self._attempts
        for attempt in range(1, most + 1):
            try:
                return self._once(method, path, body, headers)
            except IngatherError as error:
                # An earlier attempt, whose answer was lost, may still be at work.
                is_at_work = attempt > 1 and error.code == "running"
                if not (error.code == "unreachable" or error.status in PASSING or is_at_work) or attempt == most:
                    raise
                pause = min(PAUSE_MAX, 0.25 * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0)
                pause = max(pause, error.retry_after or 0.0)
                if time.monotonic() + pause > end:
                    raise
            time.sleep(pause)

    def _once(self, method: str, path: str, body: Optional[bytes], headers: Dict[str, str]) -> Any:
        host, port = self._parts.hostname, self._parts.port
        if self._tls is None:
            connection: http.client.HTTPConnection = http.client.HTTPConnection(host, port, timeout=self._timeout)
        else:
            connection = http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._tls)
        try:
            connection.request(method, f"{self._parts.path.rstrip('/')}/api/v1{path}", body, headers)
            response = connection.getresponse()
            text = response.read(ANSWER_BYTES_MAX + 1)
            if response.length and len(text) <= ANSWER_BYTES_MAX:
                raise http.client.IncompleteRead(text, response.length)
        except ssl.SSLCertVerificationError as error:
            step = "Name the file of those who vouch for it as ca_file."
            raise IngatherError(0, "certificate", f"the certificate of the service is not trusted: {error}", step) from error
        except (OSError, http.client.HTTPException) as error:
            why = f"the service at {self._parts.netloc} cannot be asked: {str(error) or type(error).__name__}"
            raise IngatherError(0, "unreachable", why, "Is `ingather serve` running there?") from error
        finally:
            connection.close()
        if len(text) > ANSWER_BYTES_MAX:
            raise IngatherError(response.status, "bad_answer", "the answer is too long", "Is this the address of an Ingather service?")
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if response.status == 200 and isinstance(answer, dict):
            return answer
        raise _problem(response.status, answer, response.headers.get("Retry-After"))


class Source:
    """A source of a service."""

    def __init__(self, client: Client, name: str):
        self.client, self.name = client, name
        self._path = f"/sources/{urllib.parse.quote(name, safe='')}"

    def push(self, records: Iterable[Optional[PushedItem]], *, linger: float = 0.25) -> List[PushResult]:
        """Pushes any number of records, and answers for each in their order; `push_each` does it for those that never end."""
        return list(self.push_each(records, linger=linger))

    def push_each(self, records: Iterable[Optional[PushedItem]], *, linger: float = 0.25) -> Iterator[PushResult]:
        """The same, one answer after the other, while somebody takes them.

        Records are sent together: as many as the client was told, and none waits longer than `linger` seconds for the next one to come.
        A stream that pauses gives `None`, at which what waits is sent: nothing looks at the time before the stream gives something.
        """
        return self._pushed(records, linger, lambda: None, self._send)

    def delete(self, keys: Iterable[str]) -> List[PushResult]:
        """Deletes records by their keys; for each there is an answer, in their order."""
        return self.push({"key": key, "delete": True} for key in _keys(keys))

    def reports(self, after: int = 0) -> Iterator[ListedReport]:
        """What became of pushes, in the order in which that was known, behind the report with this number, up to the last one now."""
        more = True
        while more:
            page = self.client._call("GET", f"{self._path}/reports?after={int(after)}&limit=1000")
            yield from page["reports"]
            after, more = page["last"], page["more"]

    def wait(self, pushed: Union[int, PushResult, Iterable[Union[int, PushResult]]], timeout: float = 60.0) -> List[Optional[TicketReport]]:
        """Waits until tickets are completed: numbers, or what `push` answered. The report of each in their order; none of what has no ticket.

        Raises IngatherError with the code `timeout` when some are open after so many seconds.
        """
        asked = [pushed] if isinstance(pushed, (int, dict)) else list(pushed)
        tickets = [one if isinstance(one, int) else one.get("ticket") for one in asked]
        found: Dict[int, TicketReport] = {}
        waited, end, pause = {ticket for ticket in tickets if ticket is not None}, time.monotonic() + timeout, 0.05
        while len(found) < len(waited):
            first = min(waited - found.keys())
            report = self.client.ticket(first).get("report")
            if report is None:
                if time.monotonic() + pause > end:
                    sentence = f"{len(waited) - len(found)} of {len(waited)} tickets are open after {timeout} s"
                    raise IngatherError(0, "timeout", sentence, "Wait again; `ingather status` says what the source waits for.")
                time.sleep(pause)
                pause = min(LOOK_MAX, pause * 2)
                continue
            found[first] = report
            # Most others were completed after it: they stand behind it, many on each page.
            if len(found) < len(waited):
                for one in self.reports(report["report"]):
                    if one["ticket"] in waited:
                        found[one["ticket"]] = {name: one[name] for name in ("report", "at", "outcome", "code", "message")}
        return [None if ticket is None else found[ticket] for ticket in tickets]

    def state(self) -> DeltaRunLook:
        """How the source stands: its records, and its last delta run."""
        return self.client._call("GET", f"{self._path}/run")

    def delta_run(self, mode: DeltaMode = "full", *, confirm: bool = False, lease_seconds: Optional[int] = None, name: Optional[str] = None) -> DeltaRun:
        """A pass over the whole source, for `with`: what it has not met is deleted at its end, unless the mode is `additive`.

        `confirm`: also where that is most of a source, or all of it. `lease_seconds`: how long the run lasts without a sign of life.
        `name`: what others read who find the source locked.
        """
        return DeltaRun(self, mode, confirm, lease_seconds, name)

    def _post(self, path: str, body: Dict[str, Any], attempts: Optional[int] = None) -> Any:
        return self.client._call("POST", self._path + path, _encoded(body), attempts)

    def _send(self, items: List[_Item], claim: str = "") -> List[PushResult]:
        """Sends records in one call. Where the body is refused, it is halved until it is known by which record."""
        if len(items) == 1 and len(items[0].text) > RECORDS_BYTES_MAX - ENVELOPE_BYTES:
            sentence = f"the record has {len(items[0].text)} bytes as JSON; at most {RECORDS_BYTES_MAX - ENVELOPE_BYTES} are sent"
            return [{"result": "refused", "code": "too_large", "message": sentence}]
        body = b"".join((b"{", claim.encode(), b'"records":[', b",".join(item.text for item in items), b"]}"))
        try:
            results = self.client._call("POST", f"{self._path}/records", body)["results"]
        except IngatherError as error:
            if error.code not in NOT_TAKEN:
                raise
            if len(items) == 1:
                return [{"result": "refused", "code": error.code, "message": error.message}]
            half = len(items) // 2
            return self._send(items[:half], claim) + self._send(items[half:], claim)
        if len(results) != len(items):
            raise IngatherError(200, "bad_answer", "the service has not answered for each record", "Look at its log, then push again.")
        return results

    def _pushed(self, records: Iterable[Any], linger: float, each: Callable[[], None], send: Callable[[List[_Item]], List[PushResult]]) -> Iterator[PushResult]:
        most = self.client._bytes_at_once - ENVELOPE_BYTES
        batch: List[_Item] = []
        size, since = 0, 0.0
        if isinstance(records, (str, bytes, dict)):
            raise TypeError("a list of records is wanted, and this is one of them: write [record]")
        for record in records:
            each()
            item = None if record is None else _item(record)
            is_full = item is None or len(batch) >= self.client._records_at_once or size + len(item.text) + 1 > most
            if batch and (is_full or time.monotonic() - since > linger):
                yield from send(batch)
                batch, size = [], 0
            if item is not None:
                since = since if batch else time.monotonic()
                batch.append(item)
                size += len(item.text) + 1
        if batch:
            yield from send(batch)


class DeltaRun:
    """A delta run: `ended` says at its end how many records were deleted, and where none was, as `veto`, why.

    Of what is pushed only what is new or changed is sent. A block that raises gives the run up: nothing is deleted, and what was pushed stays.
    """

    def __init__(self, source: Source, mode: DeltaMode, confirm: bool, lease_seconds: Optional[int], name: Optional[str]):
        self.source, self.mode, self.confirm = source, mode, confirm
        #: Say False where not all of the source was gone over: nothing is deleted then.
        self.complete = True
        self.ended: Optional[EndedDeltaRun] = None
        self._asked = {"mode": mode, "lease_seconds": lease_seconds, "client": name}
        self._met = False

    def __enter__(self) -> DeltaRun:
        opened = self.source._post("/runs", {name: value for name, value in self._asked.items() if value is not None})
        self.number, self._token, self._lease = opened["run"], opened["token"], opened["lease_seconds"]
        self._seen()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Literal[False]:
        if kind is not None:
            self._roll_back()
            return False
        if not self._met and self.complete and not self.confirm and self.mode == "full":
            self._roll_back()
            raise IngatherError(0, "nothing_pushed", "nothing was pushed in the delta run: nothing was deleted",
                                "Where the source is really empty, make the run with confirm=True.")
        ended = self._run("finish", complete=self.complete, confirm=self.confirm)
        held = ended.get("held")
        if held:
            self._roll_back()
            sentence = f"{held['obsolete']} of {held['records']} records were not met, which is most of the source: nothing was deleted"
            raise IngatherError(0, "deletions_held", sentence, "Where that is right, make the run again with confirm=True.")
        self.ended = ended
        return False

    def push(self, records: Iterable[Optional[PushedItem]], *, linger: float = 0.25) -> List[PushResult]:
        """As `Source.push`; what the source has already is answered as `unchanged`, and is not sent."""
        return list(self.push_each(records, linger=linger))

    def push_each(self, records: Iterable[Optional[PushedItem]], *, linger: float = 0.25) -> Iterator[PushResult]:
        """As `Source.push_each`. The lease is renewed between records; one that takes longer to come than the lease ends the run."""
        return self.source._pushed(records, linger, self._renew, self._send)

    def touch(self, keys: Iterable[str] = ()) -> None:
        """Says that records are there which cannot be read now: they stay. Without keys, that this client lives."""
        all_keys = _keys(keys)
        self._met = self._met or bool(all_keys)
        for at in range(0, max(1, len(all_keys)), RECORDS_AT_ONCE_MAX):
            self._run("touch", keys=all_keys[at : at + RECORDS_AT_ONCE_MAX])

    def _send(self, items: List[_Item]) -> List[PushResult]:
        checked = [item for item in items if item.hash is not None]
        known: List[CheckedItem] = []
        try:
            if checked:
                known = self._run("check", records=[{"key": item.key, "hash": item.hash} for item in checked])["results"]
        except IngatherError as error:
            # Keys of many signs that JSON writes as six letters. All are pushed, which is more than had to be.
            if error.code not in NOT_TAKEN:
                raise
        unchanged = {item.key for item, word in zip(checked, known) if word == "unchanged"}
        # Of several of one key the last one counts: they are sent together, or not at all.
        unchanged -= {item.key for item, word in zip(checked, known) if word != "unchanged"}
        unchanged -= {item.key for item in items if item.hash is None}
        sent = [item for item in items if item.key not in unchanged]
        results = self.source._send(sent, f'"run":{self.number},"token":{json.dumps(self._token)},') if sent else []
        self._seen()
        self._met = True
        for item, result in zip(sent, results):
            # The service has not heard that this one is there; what it refuses itself, it keeps as it was.
            if item.key and result["result"] == "refused" and result["code"] in NOT_TAKEN:
                self._keep(item.key)
        answers = iter(results)
        return [{"result": "unchanged"} if item.key in unchanged else next(answers) for item in items]

    def _keep(self, key: str) -> None:
        try:
            self._run("touch", keys=[key])
        except IngatherError as error:
            # No record has a key that is not even read.
            if error.code not in NOT_TAKEN:
                raise

    def _run(self, what: str, attempts: Optional[int] = None, **fields: Any) -> Any:
        answer = self.source._post(f"/runs/{self.number}/{what}", {"token": self._token, **fields}, attempts)
        self._seen()
        return answer

    def _seen(self) -> None:
        self._renew_at = time.monotonic() + self._lease / 2

    def _renew(self) -> None:
        if time.monotonic() > self._renew_at:
            self.touch()

    def _roll_back(self) -> None:
        try:
            self._run("rollback", ROLLBACK_ATTEMPTS)
        except IngatherError:
            # What led here is the failure to tell; the run ends with its lease.
            pass


def _keys(keys: Any) -> List[str]:
    """A list of keys: one text alone would be a list of its letters, and other records would go."""
    if isinstance(keys, (str, bytes)):
        raise TypeError(f"a list of keys is wanted, and this is one text: write [{keys!r}]")
    return list(keys)


class _Item(NamedTuple):
    """A record as it is sent; with a hash where it can be checked."""

    text: bytes
    key: Optional[str]
    hash: Optional[str]


def _item(record: Any) -> _Item:
    """A record with a hash, made where it has none: of all that it says, so that who may see it counts too."""
    if not isinstance(record, dict) or not isinstance(record.get("key"), str):
        return _Item(_encoded(record), None, None)
    key, hash_ = record["key"], record.get("hash")
    if record.get("delete"):
        return _Item(_encoded(record), key, None)
    text = _encoded(record)
    if hash_ is None:
        text = _encoded({name: value for name, value in record.items() if name != "hash"})
        covered = text if "if_changed" not in record else _encoded({n: v for n, v in record.items() if n not in ("hash", "if_changed")})
        hash_ = "sha256-" + hashlib.sha256(covered).hexdigest()
        text = b'{"hash":"' + hash_.encode() + b'",' + text[1:]
    is_checked = isinstance(hash_, str) and _fits(key, RECORD_KEY_BYTES_MAX) and _fits(hash_, RECORD_HASH_BYTES_MAX)
    return _Item(text, key, hash_ if is_checked else None)


def _fits(text: str, most: int) -> bool:
    try:
        return 0 < len(text.encode()) <= most and "\0" not in text
    except UnicodeEncodeError:
        return False


def _encoded(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True).encode()
    except UnicodeEncodeError:
        # Half of a character: the service refuses it, and nothing else with it.
        return json.dumps(value, allow_nan=False, separators=(",", ":"), sort_keys=True).encode()


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _problem(status: int, answer: Any, retry_after: Optional[str]) -> IngatherError:
    seconds = float(retry_after) if retry_after and retry_after.isdigit() else None
    if status == 200:
        return IngatherError(status, "bad_answer", "the answer is no object of JSON", "Is this the address of an Ingather service?")
    if not isinstance(answer, dict) or not isinstance(answer.get("code"), str):
        step = "Look at what stands between this program and the service."
        return IngatherError(status, "http", f"the answer has the status {status} and says no more", step, seconds)
    message, step = str(answer.get("detail") or answer.get("title") or ""), str(answer.get("next") or "")
    return IngatherError(status, answer["code"], message, step, seconds)
