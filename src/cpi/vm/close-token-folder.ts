/**
 * Shell function of the entry: leaves the tokens of the pod's service account to root and group vcap. The
 * kubelet writes them 0644 (vm-pod.ts sees to that) on a read-only volume, and an fsGroup would chown the
 * VM's other volumes too, so the folder above is closed: it is the container's own, and `secrets` holds those
 * that webhooks of clouds add, too. A CPI job runs as vcap. Needs `group` of own-data.ts; `own_run` of
 * stock-init.ts makes the folder anew.
 */
export const hideServiceAccountToken = `close_token_folder() {
  [ -d /var/run/secrets ] || return 0
  chown "0:$group" /var/run/secrets/. && chmod 750 /var/run/secrets/.
}
cannot_close_token_folder() {
  say "/var/run/secrets cannot be closed to the VM's users, who would read the token of its service account"
  exit 1
}
`;
