"""A worker for Abide in plain Python: worker.py http://127.0.0.1:8787 QUEUE KIND [TOKEN]"""
import json, os, sys, threading, time, urllib.error, urllib.request, uuid

base, queue, kind, *token = sys.argv[1:]
headers = {"Content-Type": "application/json"} | ({"Authorization": "Bearer " + token[0]} if token else {})

def post(path, body, more={}):
    request = urllib.request.Request(base + path, json.dumps(body).encode(), headers | more)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)

def beat(lease, over):
    while not over.wait(1):  # a lease of 5 s, renewed each second
        try:
            if post(f"/v1/jobs/{lease['job']}/heartbeat", lease["proof"] | {"lease_ms": 5000})["cancel_asked"]:
                over.set()
        except urllib.error.HTTPError:
            over.set()  # the lease is lost: somebody else has the job

def work(payload, progress, over):  # yours: stop when over is set
    for step in range(payload["steps"]):
        progress({"step": step})
        over.wait(payload["seconds"])
    return {"steps": payload["steps"]}

key = uuid.uuid4().hex
while True:
    ask = {"worker": f"python-{os.getpid()}", "queues": [queue], "kinds": [kind], "lease_ms": 5000, "wait_ms": 30000}
    try:
        leases = post("/v1/lease", ask, {"Idempotency-Key": key})["leases"]
    except (urllib.error.URLError, OSError):
        time.sleep(1); continue  # no answer: what it may have given is asked for again under the same key
    key = uuid.uuid4().hex
    for lease in leases:
        lease["proof"], over, at = {k: lease[k] for k in ("attempt", "token")}, threading.Event(), f"/v1/jobs/{lease['job']}"
        threading.Thread(target=beat, args=(lease, over), daemon=True).start()
        try:
            result = work(lease["payload"], lambda note: post(at + "/progress", lease["proof"] | {"progress": note}), over)
            end = {"end": "handed_back"} if over.is_set() else {"end": "done", "result": result}
        except Exception as error:
            end = {"end": "error", "reason": repr(error)}
        over.set(); post(at + "/finish", lease["proof"] | end)
