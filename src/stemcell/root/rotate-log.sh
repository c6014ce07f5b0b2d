#!/bin/sh
# rsyslogd runs this when its file has reached the maximum size.
exec mv -f /var/log/syslog /var/log/syslog.1
