#!/usr/bin/env python3
"""Pace and memory of `wheel`, measured against a local server that answers after a fixed time.

    python3 benches/pace.py target/release/wheel target/release/examples/bare

Prints each figure beside its bound. The second program is the yardstick of `bare.rs`; without it that part is left out. Nothing leaves this machine; the run ends by itself.
"""
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

DELAY, CONCURRENCY, PROMPTS = 0.3, 64, 2000
REPLY = json.dumps({
    "id": "x", "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "less\nESTIMATE: 100"}}],
    "usage": {"prompt_tokens": 60, "completion_tokens": 8, "total_tokens": 68},
}).encode()


RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(REPLY) + REPLY


class Slow(asyncio.Protocol):
    """Answers each request of a connection after the delay; the requests of one connection come one by one."""

    first = None

    def connection_made(self, transport):
        self.transport, self.buffer = transport, b""

    def data_received(self, data):
        Slow.first = Slow.first or time.perf_counter()
        self.buffer += data
        head, separator, body = self.buffer.partition(b"\r\n\r\n")
        if separator:
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            if len(body) >= length:
                self.buffer = b""
                asyncio.get_running_loop().call_later(DELAY, self.transport.write, RESPONSE)


def start_server(protocol):
    loop, port = asyncio.new_event_loop(), []
    ready = threading.Event()

    async def main():
        server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
        port.append(server.sockets[0].getsockname()[1])
        ready.set()

    def run():
        asyncio.set_event_loop(loop)
        loop.run_until_complete(main())
        loop.run_forever()

    threading.Thread(target=run, daemon=True).start()
    ready.wait()
    return port[0]


class Limited(asyncio.Protocol):
    """Enforces a number of requests a minute with a bucket that holds one second of them, and tells so in its headers."""

    per_minute, left, at, refused, answered = 3000, 50.0, None, 0, 0

    def connection_made(self, transport):
        self.transport, self.buffer = transport, b""

    def data_received(self, data):
        self.buffer += data
        head, separator, body = self.buffer.partition(b"\r\n\r\n")
        if not separator or len(body) < int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]):
            return
        self.buffer = b""
        rate, now = Limited.per_minute / 60, time.perf_counter()
        Limited.left = min(rate, Limited.left + (now - (Limited.at or now)) * rate)
        Limited.at = now
        allowed = Limited.left >= 1
        if allowed:
            Limited.left -= 1
            Limited.answered += 1
        else:
            Limited.refused += 1
        reply = REPLY if allowed else b'{"error":{"message":"slow down","code":"rate_limit_exceeded"}}'
        response = (b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\nx-ratelimit-limit-requests: %d\r\n"
                    b"x-ratelimit-remaining-requests: %d\r\nx-ratelimit-reset-requests: %dms\r\ncontent-length: %d\r\n\r\n"
                    % (200 if allowed else 429, Limited.per_minute, int(Limited.left), int((rate - Limited.left) / rate * 1000), len(reply))) + reply
        asyncio.get_running_loop().call_later(DELAY, self.transport.write, response)


def run(words, folder):
    """Wall time, CPU time and peak memory (MB) of a command."""
    began = time.perf_counter()
    child = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    took = time.perf_counter() - began
    assert status == 0, words
    return took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def stored(folder):
    return sum(sum(1 for _ in open(os.path.join(path, name))) for path, _, names in os.walk(folder) for name in names)


def asking(wheel, port, task, prompts, *more):
    """The command that asks so many prompts."""
    per_epoch = 40 if task == "baseline" else 80
    return [wheel, "run", "--model", f"http://127.0.0.1:{port}/v1#m", "--task", task, "--epochs", str(prompts // per_epoch), "--quiet", *more]


def against_bare(wheel, bare, calls=16000, concurrency=64, rounds=5):
    server = subprocess.Popen([bare, "serve"], stdout=subprocess.PIPE, text=True)
    port = int(server.stdout.readline())
    def seconds():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/seconds") as reply:
            return float(reply.read())

    asking_share, whole_share, cpu = [], [], []
    try:
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                bare_took, bare_cpu, _ = run([bare, "loop", f"http://127.0.0.1:{port}/v1/chat/completions", str(calls), str(concurrency)], folder)
                bare_asking = seconds()
                took, used, _ = run(asking(wheel, port, "classic", calls, "--concurrency", str(concurrency)), folder)
                wheel_asking = seconds()
                assert stored(folder) == calls
                asking_share.append(bare_asking / wheel_asking)
                whole_share.append(bare_took / took)
                cpu.append((used - bare_cpu) / calls * 1000)
                print(f"  bare {calls / bare_asking:.0f} calls/s, wheel {calls / wheel_asking:.0f} calls/s with every reply on disk")
    finally:
        server.kill()
    print(f"zero latency, {concurrency} at a time: median {statistics.median(asking_share):.2f} of the bare loop's throughput from the first call to the last (bound 0.7)")
    print(f"  and {statistics.median(whole_share):.2f} with start, plan and scores of {calls} replies counted in")
    print(f"CPU above the bare loop: median {statistics.median(cpu) * 1000:.0f} ms per 1,000 calls (bound 100 ms)")


def main():
    wheel = os.path.abspath(sys.argv[1])
    times = []
    for _ in range(20):
        began = time.perf_counter()
        subprocess.run([wheel, "--help"], stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - began)
    print(f"wheel --help: median {statistics.median(times) * 1000:.1f} ms of 20 (bound 20 ms)")

    port = start_server(Slow)
    starts = []
    for _ in range(10):
        with tempfile.TemporaryDirectory() as folder:
            Slow.first, began = None, time.perf_counter()
            run(asking(wheel, port, "baseline", 40, "--limit", "1"), folder)
            starts.append(Slow.first - began)
    print(f"start to first request: median {statistics.median(starts) * 1000:.1f} ms of 10 (bound 50 ms)")

    with tempfile.TemporaryDirectory() as folder:
        took, _, peak = run(asking(wheel, port, "classic", PROMPTS, "--concurrency", str(CONCURRENCY)), folder)
        assert stored(folder) == PROMPTS
        ideal = PROMPTS / CONCURRENCY * DELAY
        print(f"{PROMPTS} prompts, {CONCURRENCY} at a time, {DELAY} s each: {took:.2f} s, {took / ideal:.3f} x the ideal {ideal:.3f} s (bound 1.05)")
        print(f"peak memory of the process: {peak:.0f} MB (bound 60 MB)")

    port = start_server(Limited)
    for words, what in (["--rpm", "3000"], "given"), ([], "told in headers"):
        Limited.left, Limited.at, Limited.refused, Limited.answered = Limited.per_minute / 60, None, 0, 0
        with tempfile.TemporaryDirectory() as folder:
            took, _, _ = run(asking(wheel, port, "baseline", 1000, *words), folder)
            assert Limited.answered == 1000
            ideal = 1000 / Limited.per_minute * 60
            share = Limited.refused / (1000 + Limited.refused)
            print(f"1,000 prompts at {Limited.per_minute} a minute, the limit {what}: {took:.2f} s, {took / ideal:.3f} x the ideal {ideal:.0f} s (bound 1.05), {share:.2%} answered 429 (bound 1 %)")

    if len(sys.argv) > 2:
        against_bare(wheel, os.path.abspath(sys.argv[2]))


main()
