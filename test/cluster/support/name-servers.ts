import { shellQuote } from '../../../src/cpi/vm/scripts/shims.ts';

/**
 * A name server at the first argument: it resolves the other arguments to its own address, and no other
 * name.
 */
const server = `const { createSocket } = require("node:dgram");
const [address, ...names] = process.argv.slice(1);
const socket = createSocket("udp4").on("message", (query, client) => {
  const labels = [];
  let at = 12;
  for (; query[at] > 0; at += query[at] + 1) labels.push(query.toString("latin1", at + 1, at + 1 + query[at]));
  const isKnown = names.includes(labels.join("."));
  const isAnswered = isKnown && query.readUInt16BE(at + 1) === 1;
  const record = isAnswered ? [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".")] : [];
  const head = [query[0], query[1], 0x81, isKnown ? 0x80 : 0x83, 0, 1, 0, isAnswered ? 1 : 0, 0, 0, 0, 0];
  socket.send(Buffer.from([...head, ...query.subarray(12, at + 5), ...record]), client.port, client.address);
});
socket.bind(53, address, () => console.log("listening"));`;

const namesOfPod = ['kubernetes.default.svc.cluster.local', 'registry.corp.local', 'www.example.com'];
const namesOfBoshDns = ['upcheck.bosh-dns', 'uaa.service.cf.internal', 'q-s0.api.default.cf.bosh'];

/**
 * Runs a name server of the pod and one of bosh-dns in the VM, and prints for some names the server that
 * resolves them. bosh-dns is added to systemd-resolved as its release does it (bosh-dns-release:
 * jobs/bosh-dns, pre-start), except that its link is not a dummy, which the kernel of CI does not have.
 */
export const queryNameServers = `set -e
pod=$(resolvectl dns | sed -n 's/^Global: //p')
ip address add "$pod/32" dev lo
ip link add bosh-dns type veth peer name peer
ip address add 169.254.0.2/32 dev bosh-dns
for link in bosh-dns peer; do ip link set "$link" up; done
resolvectl dns bosh-dns 169.254.0.2
resolvectl domain bosh-dns bosh. bosh-dns. service.cf.internal.
serve() {
  setsid node -e ${shellQuote(server)} "$@" > "/tmp/$1" 2>&1 < /dev/null &
  until [ -s "/tmp/$1" ]; do sleep 0.1; done
}
serve "$pod" ${namesOfPod.join(' ')}
serve 169.254.0.2 ${namesOfBoshDns.join(' ')}
for name in ${namesOfPod.join(' ')} kubernetes.default.svc ${namesOfBoshDns.join(' ')}; do
  echo "$name: $(getent ahostsv4 "$name" | sed "s/ .*//; s/^$pod$/pod/; s/^169.254.0.2$/bosh-dns/; q")"
done
echo "upcheck.bosh-dns in a container: $(host -t A upcheck.bosh-dns 169.254.0.53 | sed -n 's/.* 169.254.0.2$/bosh-dns/p')"`;

/** The output of `queryNameServers` with a search list of the pod. */
export const rightNameServers = [
  ...[...namesOfPod, 'kubernetes.default.svc'].map((name) => `${name}: pod\n`),
  ...namesOfBoshDns.map((name) => `${name}: bosh-dns\n`),
  'upcheck.bosh-dns in a container: bosh-dns\n',
].join('');
