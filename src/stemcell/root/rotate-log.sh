#!/bin/sh
# run by rsyslogd where its file is as large as it may be
exec mv -f /var/log/syslog /var/log/syslog.1
