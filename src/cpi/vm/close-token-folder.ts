/**
 * Shell function of the entry: makes the tokens of the pod's service account readable only for root and group
 * vcap. The kubelet writes them with mode 0644 (vm-pod.ts ensures that) on a read-only volume, and an fsGroup
 * would chown the VM's other volumes too, so the function closes the folder above: it belongs to the
 * container, and `secrets` also contains the tokens that webhooks of clouds add. A CPI job runs as vcap.
 * Needs `group` of own-data.ts; `own_run` of stock-init.ts creates the folder again.
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
