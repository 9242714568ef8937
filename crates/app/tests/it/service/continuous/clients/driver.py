# Does steps of the acceptance suite with the client in Python: driver.py FOLDER-OF-THE-CLIENT URL. Each step is a line of JSON, and so is its answer.
import json
import sys

sys.path.insert(0, sys.argv[1])
from ingather import Client, IngatherError  # noqa: E402


class Raised(Exception):
    """What a block raises because a step says so."""


class Driver:
    def __init__(self):
        self.source = self.results = None

    def steps(self, target):
        """Does steps with a source or a run, up to one that ends the run."""
        for line in sys.stdin:
            step = json.loads(line)
            if step["do"] in ("end", "raise"):
                return step
            if step["do"] == "delta":
                self.delta(step)
            else:
                tell(guarded(lambda: getattr(self, step["do"])(step, target or self.source)))
        return None

    def delta(self, step):
        def whole():
            fields = {name: step[name] for name in ("mode", "confirm", "lease_seconds", "name") if name in step}
            with self.source.delta_run(**fields) as run:
                tell({"opened": True})
                last = self.steps(run)
                if last is None or last["do"] == "raise":
                    raise Raised
                run.complete = last.get("complete", True)
            return {"deleted": run.ended["deleted"], "veto": bool(run.ended.get("veto"))}

        tell(guarded(whole))

    def use(self, step, _):
        bounds = {name: step[name] for name in ("records_at_once", "bytes_at_once") if name in step}
        self.source = Client(sys.argv[2], step["key"], attempts=step.get("attempts", 8), **bounds).source(step["source"])
        return {}

    def push(self, step, target):
        def records():
            for number, record in enumerate(step["records"]):
                # A source that is so slow that half of the lease has passed.
                if number > 0 and step.get("slow"):
                    target._renew_at = 0.0
                yield record

        return self.told(target.push(records(), linger=step.get("linger", 0.25)))

    def stream(self, step, target):
        answered = []

        def records():
            for number, record in enumerate(step["records"]):
                yield record
                yield None
                assert len(answered) == number + 1

        for result in target.push_each(records()):
            answered.append(result)
        return self.told(answered)

    def delete(self, step, target):
        return self.told(target.delete(step["keys"]))

    def touch(self, step, target):
        target.touch(step["keys"])
        return {}

    def wait(self, step, _):
        reports = self.source.wait(self.results, step.get("timeout", 200))
        return {"outcomes": [report and report["outcome"] for report in reports]}

    def reports(self, _, __):
        return {"reports": [[one["key"], one["op"], one["outcome"]] for one in self.source.reports()]}

    def state(self, _, __):
        state = self.source.state()
        return {name: state[name] for name in ("state", "mode", "records", "deleted", "touched")}

    def told(self, results):
        self.results = results
        return {"results": [word(result) for result in results], "tickets": [one["ticket"] for one in results if "ticket" in one]}


def word(result):
    if result["result"] == "refused":
        return f"refused {result['code']}"
    return "replaced" if result.get("was_there") else result["result"]


def guarded(work):
    try:
        return work()
    except Raised:
        return {"raised": True}
    except TypeError:
        return {"misused": True}
    except IngatherError as error:
        return {"error": [error.status, error.code], "told": len(error.message) > 5 and len(error.next_step) > 5}


def tell(answer):
    print(json.dumps(answer), flush=True)


Driver().steps(None)
