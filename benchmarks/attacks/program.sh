# A program that is raced: program.sh ARM ITEM prints the score of victim.py, with two lines in the log.
echo "begin $1 $2" >> "$VICTIM_LOG"
sleep "${VICTIM_SECONDS:-0.005}"
awk -v arm="$1" -v n="$2" 'BEGIN {
  level["bad"] = 0.1; level["fair"] = 0.3; level["good"] = 0.45; level["best"] = 0.6
  sum["bad"] = 101; sum["fair"] = 106; sum["good"] = 107; sum["best"] = 102
  printf "%.17g\n", level[arm] + 0.25 * ((n * 7919) % 101) / 101 + 0.1 * ((n * sum[arm]) % 37) / 37 }'
echo "end $1 $2" >> "$VICTIM_LOG"
