import type { SecurityProfile } from '../../../src/cpi/vm/profile.ts';
import type { Access } from '../../../src/kubernetes/access.ts';
import type { UpstreamAgent } from '../../support/upstream-programs.ts';
import type { StockInit } from './stock-files.ts';

/** What a command on a node printed. */
interface NodeOutcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A node whose processes the suite may trouble. */
export interface NodeUnderTest {
  readonly name: string;
  /** A command in the node's mount and network namespaces. */
  run(command: readonly string[]): Promise<NodeOutcome>;
  /** SIGSTOP to all of its processes, pods' among them, and back. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** kill -9, and a new one. */
  restart(program: 'kubelet' | 'containerd'): Promise<void>;
  /** As a power cut: every process and mount is gone, the disk of the node stays. */
  stop(): Promise<void>;
  /**
   * Resolves when the node is Ready again. Until `beforeHubs` is done the hub of no VM is mounted, so that no VM starts, but
   * attachments can.
   */
  start(beforeHubs?: () => Promise<void>): Promise<void>;
}

/** A stemcell that the nodes can run. */
export interface Stemcell {
  /** Its cid. */
  readonly image: string;
  /** The path of the light stemcell. */
  readonly archive: string;
}

export interface StockStemcellPlan {
  readonly init: StockInit;
  readonly upstream: UpstreamAgent | undefined;
  /** Whose VMs are made from it: to unpack it takes a node several seconds of a processor. */
  readonly node: string;
}

/**
 * Classes of the suite's own volume driver, by which tests say what they need: at once, with the pod's node, without extras, and
 * one that loses what is on a disk.
 */
export type DiskClass = 'loop' | 'loop-wait' | 'loop-plain' | 'loop-forgetful';

/** The cluster that the suites run against. */
export interface ClusterUnderTest {
  readonly access: Access;
  readonly kubeconfig: string;
  /** The words that run what an operator types, built from the cluster's own module. */
  readonly kubectl: readonly string[];
  readonly kubeletRootDirectory: string;
  /** With our agent, for VMs of any profile; made at the first use. */
  readonly stemcell: Stemcell;
  /** As `stemcell build` makes it for that profile, with our agent or an upstream one. */
  stemcellFor(profile: SecurityProfile, upstream?: UpstreamAgent): Promise<Stemcell>;
  /** The look-alike of a stock one, for VMs of the profile privileged on one node. */
  stockStemcell(plan: StockStemcellPlan): Promise<Stemcell>;
  /** The path of the heavy one that it is made from, with our agent. */
  heavyStockStemcell(init: StockInit): Promise<string>;
  /** A fixed address of the pod network: suites agree on numbers from 0 so that none is used twice; undefined where it cannot pin one. */
  fixedAddress(number: number): string | undefined;
  /** What stands for that class here; undefined: the cluster's default. */
  storageClass(wanted: DiskClass): string | undefined;
  /** What the volume driver saw happen to a volume that must not, one sentence each; nothing where it is not the suite's own. */
  violations(volume: string): Promise<readonly string[]>;
  /** Whether the suite's own volume driver has the snapshot of that handle; undefined where it is another driver's. */
  hasSnapshot(handle: string): Promise<boolean | undefined>;
  /** Empty where the suite may not touch them (KUBECONFIG). */
  readonly nodes: readonly NodeUnderTest[];
  /** Removes what the suite has on this machine for it. */
  close(): Promise<void>;
}
