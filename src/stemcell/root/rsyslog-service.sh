#!/bin/sh
# Jobs run `service rsyslog restart` when they have changed /etc/rsyslog.d. services.sh starts rsyslogd again
# after it has ended. If it does not run now, it will read the changed files anyway.
case ${1:-} in
  restart) pkill -x rsyslogd || : ;;
  *)
    echo "rsyslogd always runs on this VM; use: service rsyslog restart" >&2
    exit 3
    ;;
esac
