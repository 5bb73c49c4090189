"""Debian's python3-redis against one node or a cluster. Each check that passes prints "ok <name>"; the first failure ends
the script with a traceback."""
import os
import sys
import threading
import time

import redis

CLUSTER = sys.argv[1] == "cluster"
TLS = {}
if "TLS_CA" in os.environ:
    TLS = {"ssl": True, "ssl_ca_certs": os.environ["TLS_CA"], "ssl_certfile": os.environ["TLS_CERT"],
           "ssl_keyfile": os.environ["TLS_KEY"]}
PORTS = [int(port) for port in sys.argv[2:]]
LIBRARY = """#!lua name=pylib
redis.register_function('pylib_put', function(keys, args) return redis.call('SET', keys[1], args[1]) end)
redis.register_function{function_name='pylib_get',
  callback=function(keys) return redis.call('GET', keys[1]) end, flags={'no-writes'}}"""


def connect():
    if CLUSTER:
        return redis.RedisCluster(host="127.0.0.1", port=PORTS[0], decode_responses=True, **TLS)
    return redis.Redis(port=PORTS[0], decode_responses=True, **TLS)


def node(port):
    return redis.Redis(port=port, decode_responses=True, **TLS)


def until(check, what):
    end = time.monotonic() + 60
    while not check():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def check_commands(r):
    for i in range(30):
        assert r.set(f"py:{i}", i)
    assert r.get("py:7") == "7"
    assert r.hset("py:h", mapping={"a": 1, "b": 2}) in (0, 2)
    assert r.hgetall("py:h") == {"a": "1", "b": "2"}
    r.zadd("py:z", {"x": 1.5, "y": 2})
    assert r.zrange("py:z", 0, -1, withscores=True) == [("x", 1.5), ("y", 2.0)]
    entry = r.xadd("py:x", {"f": "v"})
    assert r.xrange("py:x", min=entry) == [(entry, {"f": "v"})]
    assert set(r.scan_iter(match="py:1?")) == {f"py:1{i}" for i in range(10)}
    try:
        r.lpush("py:7", "x")
        raise AssertionError("LPUSH on a string")
    except redis.ResponseError as error:
        assert "WRONGTYPE" in str(error) or "wrong kind" in str(error), error


def check_pipeline(r):
    pipeline = r.pipeline(transaction=False)
    for i in range(200):
        pipeline.set(f"py:p:{i}", i)
    assert all(pipeline.execute())
    for i in range(200):
        pipeline.get(f"py:p:{i}")
    assert pipeline.execute() == [str(i) for i in range(200)]


def check_multi(r):
    if CLUSTER:  # this version of the library has no transactions in a cluster: one node is asked
        owner = r.get_node_from_key("py:{m}:a")
        r = node(owner.port)
    pipeline = r.pipeline(transaction=True)
    assert pipeline.set("py:{m}:a", 1).incr("py:{m}:a").get("py:{m}:a").execute() == [True, 2, "2"]
    pipeline.watch("py:{m}:w")
    r.incr("py:{m}:w")
    pipeline.multi()
    pipeline.set("py:{m}:w", "mine")
    try:
        pipeline.execute()
        raise AssertionError("a broken WATCH was not noticed")
    except redis.WatchError:
        pass


def check_lua(r):
    r.delete("py:l")
    if CLUSTER:
        assert r.eval("return redis.call('INCRBY', KEYS[1], ARGV[1])", 1, "py:l", 5) == 5
        return
    add = r.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    assert add(keys=["py:l"], args=[5]) == 5
    assert add(keys=["py:l"], args=[5]) == 10


def check_functions(r):
    for port in PORTS:
        if node(port).info("replication")["role"] == "master":
            node(port).execute_command("FUNCTION", "LOAD", "REPLACE", LIBRARY)
    assert r.fcall("pylib_put", 1, "py:f", "v") == "OK"
    assert r.fcall_ro("pylib_get", 1, "py:f") == "v"


def check_pubsub(r):
    subscriber = r.pubsub(ignore_subscribe_messages=False)
    subscriber.subscribe("py:ch")
    assert subscriber.get_message(timeout=60)["type"] == "subscribe"
    subscriber.psubscribe("py:p*")
    assert subscriber.get_message(timeout=60)["type"] == "psubscribe"
    r.publish("py:ch", "one")
    message = subscriber.get_message(timeout=60)
    assert (message["channel"], message["data"]) == ("py:ch", "one"), message
    r.publish("py:pat", "two")
    message = subscriber.get_message(timeout=60)
    assert (message["pattern"], message["data"]) == ("py:p*", "two"), message
    subscriber.close()


def check_blocking(r):
    popped = []
    waiting = threading.Thread(target=lambda: popped.append(connect().blpop(["py:{q}:a", "py:{q}:b"], timeout=60)))
    waiting.start()
    until(lambda: any(node(port).info("clients")["blocked_clients"] for port in PORTS), "nobody is blocked")
    r.rpush("py:{q}:b", "job")
    waiting.join()
    assert popped == [("py:{q}:b", "job")], popped
    assert r.blpop("py:{q}:a", timeout=0.05) is None


def main():
    r = connect()
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            check(r)
            print("ok", name.removeprefix("check_"), flush=True)


main()
