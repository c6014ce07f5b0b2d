#!/bin/sh
# Jobs run `service rsyslog restart` when they have changed /etc/rsyslog.d. The service loop of the VM starts
# rsyslogd again after it has ended.
case ${1:-} in
  restart) pkill -x rsyslogd ;;
  *)
    echo "rsyslogd always runs on this VM; use: service rsyslog restart" >&2
    exit 3
    ;;
esac
