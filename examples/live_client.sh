#!/usr/bin/env bash
# A day of a shop by curl: begin, an offer for every customer, their answers, a delivery, end. Start the service first:
#   cbwk-gpu serve DIR --listen 127.0.0.1:7878
# then: examples/live_client.sh [http://127.0.0.1:7878] [DAY] [BUDGET] [CONTEXT]
# Every request may be repeated: the same id gets the same answer, also after a crash.
set -euo pipefail
url=${1:-http://127.0.0.1:7878}
day=${2:-$(date +%F)}
budget=${3:-5}
context=${4:-'{}'}

ask() { curl --silent --show-error --retry 5 --retry-connrefused --max-time 10 "$url/v1/$1" --data "$2"; echo; }

ask begin "{\"episode\":\"$day\",\"budget\":$budget}"
for customer in 1 2 3; do
    answer=$(ask decide "{\"id\":\"$day-$customer\",\"step\":$customer,\"context\":$context}")
    echo "$answer"
    # Yours is a till or a web page that shows the offer; here every second customer accepts.
    if [[ $answer != *'"action":0,'* && $answer == *'"ok":true'* ]]; then
        ask observe "{\"id\":\"$day-$customer\",\"accepted\":$([ $((customer % 2)) = 0 ] && echo true || echo false)}"
    fi
done
ask adjust "{\"id\":\"$day-van\",\"units\":1,\"reason\":\"delivery\"}"
ask end "{\"episode\":\"$day\"}"
curl --silent "$url/v1/state"; echo
