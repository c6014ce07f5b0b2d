/**
 * Attacks of root in a VM, and of a user of its jobs, on the hub, on a disk and on the folders of
 * /var/vcap/data: shell text for the VM's container. A program of the disk that runs in the attachment pod
 * leaves the file `owned` in the hub.
 */

/** Every program that the scripts of an attachment pod start; none of them may come from the disk. */
const programs = [
  ...['awk', 'stat', 'flock', 'mount', 'umount', 'grep', 'readlink', 'sed', 'mkdir', 'rmdir', 'rm', 'sleep'],
  ...['head', 'tr', 'chown', 'chmod', 'cat'],
];

/**
 * Puts programs into the root of the disk that is attached with hint $1. The disk is mounted over a folder of
 * programs with them.
 */
export const fillWithPrograms = `set -e
root=\${1%/store}
cp "$(readlink -f /bin/sh)" "$root/sh"
ln -sf sh "$root/dash"
for name in ${programs.join(' ')}; do
  printf '#!/bin/sh\\nfor hub in /hub /vm/hub; do : > $hub/owned; done 2> /dev/null\\n' > "$root/$name"
  chmod 755 "$root/$name"
done`;

/** Creates a link at the path where attach_disk mounts disk $1; $2 is its target. Undone by `removeLinks`. */
export const linkEntry = 'ln -s "$2" "/warden-cpi-dev/disks/$1"';
export const linkDisks = `cd /warden-cpi-dev && mv disks moved && ln -s "$2" disks`;
export const removeLinks = `cd /warden-cpi-dev
if [ -L disks ]; then rm disks && mv moved disks; fi
for link in disks/*; do [ ! -L "$link" ] || rm "$link"; done`;

/** Continuously links and moves the path of disk $1, and sometimes `disks`, until /tmp/stop exists. */
export const race = `rm -f /tmp/stop
setsid sh -c '
  cd /warden-cpi-dev
  round=0
  while [ ! -e /tmp/stop ]; do
    ln -sT "$2" "disks/$1"
    mv -T "disks/$1" disks/spare
    mkdir "disks/$1" && mv -T "disks/$1" disks/spare2
    rm -rf disks/spare disks/spare2
    round=$((round + 1))
    [ $((round % 20)) -ne 0 ] || { mv disks moved && ln -s /usr disks && rm -f disks; mv -T moved disks; }
  done 2> /dev/null
  touch /tmp/stopped
' race "$1" "$2" > /dev/null 2>&1 &`;
export const stopRace = `touch /tmp/stop; until [ -e /tmp/stopped ]; do sleep 0.1; done; rm -f /tmp/stopped`;

/** Fails if a program of the disk has run. */
export const assertNotOwned = 'test -z "$(find /warden-cpi-dev -xdev -name owned)"';

/** Attempts that must fail for a user of jobs, one command each. */
export const attemptsOfJobUser: readonly string[] = [
  ...['jobs', 'packages', 'sys', 'sys/log', 'sys/run', 'tmp'].flatMap((directory) => [
    `mv /var/vcap/data/${directory} /var/vcap/data/${directory}.aside`,
    `ln -s /etc /var/vcap/data/${directory}/planted`,
  ]),
  'mkdir /var/vcap/data/planted',
  'mv /var/vcap/data /var/vcap/aside',
  'touch /warden-cpi-dev/.going',
  'mkdir /warden-cpi-dev/.going',
  'mkfifo /warden-cpi-dev/.going',
  'ln -s /var/vcap/jobs /warden-cpi-dev/.going',
  'mv /warden-cpi-dev/disks /warden-cpi-dev/aside',
  'ln -s /var/vcap/jobs /warden-cpi-dev/disks/planted',
  'for volume in /warden-cpi-dev/disks/*; do mv $volume/store $volume/aside; done',
  'for volume in /warden-cpi-dev/disks/*; do ln -s /etc $volume/planted; done',
  ...['bosh', 'monit', 'jobs', 'packages', 'instance'].map(
    (directory) => `ln -s /etc /var/vcap/${directory}/planted`,
  ),
];
