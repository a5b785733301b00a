"""A worker for Abide in plain Python: worker.py http://127.0.0.1:8787 QUEUE KIND [TOKEN]"""
import http.client, json, os, sys, threading, time, urllib.error, urllib.request, uuid
base, queue, kind, *token = sys.argv[1:]
headers = {"Content-Type": "application/json"} | ({"Authorization": "Bearer " + token[0]} if token else {})

def post(path, body, tries=1, more={}):  # {} if the server was away each time
    for _ in range(tries):
        try:
            request = urllib.request.Request(base + path, json.dumps(body).encode(), headers | more)
            with urllib.request.urlopen(request, timeout=60) as answer: return json.load(answer)
        except (OSError, http.client.HTTPException) as error:
            time.sleep(1)
            if isinstance(error, urllib.error.HTTPError) and error.code < 500 and error.code != 429:
                return {"refused": error.code}
    return {}

def beat(at, proof, over):  # a lease of 5 s, renewed each second; one that is refused (409) is lost: somebody else has the job
    while not over.wait(1):
        answer = post(at + "/heartbeat", proof | {"lease_ms": 5000})
        if answer.get("cancel_asked") or "refused" in answer: over.set()

def work(payload, progress, over):  # yours: stop when over is set
    for step in range(payload["steps"]):
        progress({"step": step})
        over.wait(payload["seconds"])
    return {"steps": payload["steps"]}
key = uuid.uuid4().hex
while True:
    ask = {"worker": f"python-{os.getpid()}", "queues": [queue], "kinds": [kind], "lease_ms": 5000, "wait_ms": 30000}
    answer = post("/v1/lease", ask, more={"Idempotency-Key": key})
    key = uuid.uuid4().hex if answer else key  # no answer: what it may have given is asked for again
    for lease in answer.get("leases", []):
        at, proof, over = f"/v1/jobs/{lease['job']}", {k: lease[k] for k in ("attempt", "token")}, threading.Event()
        threading.Thread(target=beat, args=(at, proof, over), daemon=True).start()
        try:
            result = work(lease["payload"], lambda note: post(at + "/progress", proof | {"progress": note}), over)
            end = {"end": "handed_back"} if over.is_set() else {"end": "done", "result": result}
        except Exception as error:
            end = {"end": "error", "reason": repr(error)}
        over.set(); post(at + "/finish", proof | end, tries=60)
