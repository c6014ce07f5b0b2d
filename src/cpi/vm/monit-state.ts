/**
 * Shell function of the entry: configures an upstream monit to keep its state on the state volume. The
 * default is ~/.monit.state, which a container loses: monit would then start the jobs that `bosh stop`
 * stopped, also in the middle of a disk's migration. The monitrc of a stock stemcell includes
 * /var/vcap/monit/*.monitrc (bosh-linux-stemcell-builder: stages/bosh_monit); the agent removes only
 * /var/vcap/monit/job (bosh-agent: jobsupervisor/monit_job_supervisor.go). A stemcell of this project
 * configures it in its own monitrc (src/stemcell/root/monitrc). A file that has the line already is not
 * written, so that a full volume does not keep the VM from starting.
 */
export const monitState = `keep_monit_state() {
  file=/var/vcap/monit/bosh-kubernetes.monitrc
  line='set statefile /var/vcap/monit/monit.state'
  if [ ! -L "$file" ] && [ -f "$file" ] && [ "$(cat "$file")" = "$line" ]; then return 0; fi
  mkdir -p /var/vcap/monit && rm -rf "$file.new" &&
    (umask 077 && set -C && echo "$line" > "$file.new") && mv -fT "$file.new" "$file"
}
`;
