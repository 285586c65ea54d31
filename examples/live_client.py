#!/usr/bin/env python3
"""A client of `cbwk-gpu serve DIR --listen 127.0.0.1:7878` with Python's standard library alone.

    python3 examples/live_client.py [http://127.0.0.1:7878] [DAYS] [BUDGET] [CUSTOMERS]

Requests that fail on the way are sent again: the same id gets the same answer, also after a crash of the service.
"""

import json
import random
import sys
import time
import urllib.error
import urllib.request


class Shop:
    def __init__(self, url, token=None):
        self.url = url.rstrip("/")
        self.headers = {"Content-Type": "application/json"}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"

    def ask(self, op, tries=20, **body):
        request = urllib.request.Request(f"{self.url}/v1/{op}", json.dumps(body).encode(), self.headers)
        for attempt in range(tries):
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                answer = json.load(error)["error"]
                if answer["code"] != "storage":
                    raise ValueError(f"{answer['code']}: {answer['message']}") from None
            except OSError:
                pass
            time.sleep(0.1 * (attempt + 1))
        raise TimeoutError(f"no answer to {op}")


def main(url="http://127.0.0.1:7878", days="3", budget="5", customers="8"):
    shop = Shop(url)
    luck = random.Random(1)
    for day in range(1, int(days) + 1):
        shop.ask("begin", episode=f"day {day}", budget=int(budget))
        for step in range(1, int(customers) + 1):
            offer = shop.ask("decide", id=f"day {day}, customer {step}", step=step, context={})
            if offer["action"] > 0:
                # Yours is a customer; here it is a coin.
                accepted = luck.random() < 0.8 / offer["offer"]
                shop.ask("observe", id=offer["id"], accepted=accepted)
                if accepted and luck.random() < 0.1:
                    # Given back: the unit can be sold again.
                    shop.ask("cancel", id=offer["id"])
            if step == int(customers) // 2:
                shop.ask("adjust", id=f"day {day}, van", units=1, reason="delivery")
        end = shop.ask("end", episode=f"day {day}")
        print(f"day {day}: earned {end['reward']}, sold {end['spent']}, {end['observations']} observations")


if __name__ == "__main__":
    main(*sys.argv[1:])
