import type { SecurityProfile } from '../../../src/cpi/config/profile.ts';
import type { Access } from '../../../src/kubernetes/access/access.ts';
import type { UpstreamAgent } from '../../support/upstream-programs.ts';
import type { StockInit } from './stock-files.ts';

/** The result of a command on a node. */
interface NodeOutcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A node whose processes the suite may disturb. */
export interface NodeUnderTest {
  readonly name: string;
  /** Runs a command in the node's mount and network namespaces. */
  run(command: readonly string[]): Promise<NodeOutcome>;
  /** Sends SIGSTOP to all of its processes, including those of pods; `thaw` reverts this. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** Kills the program with SIGKILL and starts it again. */
  restart(program: 'kubelet' | 'containerd'): Promise<void>;
  /** Stops the node like a power loss: all processes and mounts are lost, the node's disk stays. */
  stop(): Promise<void>;
  /**
   * Starts the node and resolves when it is Ready again. Until `beforeHubs` has ended no VM's hub is mounted,
   * so that attachment pods can start but VMs cannot.
   */
  start(beforeHubs?: () => Promise<void>): Promise<void>;
}

/** A stemcell that the nodes can run. */
export interface Stemcell {
  /** The stemcell's cid. */
  readonly image: string;
  /** The path of the light stemcell. */
  readonly archive: string;
}

export interface StockStemcellPlan {
  readonly init: StockInit;
  readonly upstream: UpstreamAgent | undefined;
  /** The node whose VMs use the stemcell. Unpacking it takes several seconds of CPU time on each node. */
  readonly node: string;
}

/**
 * Names of the classes that tests need, after those of the suite's own volume driver: one that binds at once,
 * one that binds with the pod's node, one without optional features, and one that loses data.
 */
export type DiskClass = 'loop' | 'loop-wait' | 'loop-plain' | 'loop-forgetful';

/** The cluster that the suites run against. */
export interface ClusterUnderTest {
  readonly access: Access;
  readonly kubeconfig: string;
  /** The arguments that run the operator's kubectl, which is built from the cluster's version. */
  readonly kubectl: readonly string[];
  readonly kubeletRootDirectory: string;
  /** A stemcell with our agent, for VMs of any profile. It is built at the first use. */
  readonly stemcell: Stemcell;
  /** Returns the stemcell that `stemcell build` makes for that profile, with our agent or an upstream one. */
  stemcellFor(profile: SecurityProfile, upstream?: UpstreamAgent): Promise<Stemcell>;
  /** Returns the look-alike of a stock stemcell, for VMs of the profile privileged on one node. */
  stockStemcell(plan: StockStemcellPlan): Promise<Stemcell>;
  /** Returns the path of the heavy stemcell that the stock look-alike is made from, with our agent. */
  heavyStockStemcell(init: StockInit): Promise<string>;
  /**
   * Returns a fixed address of the pod network. Suites use distinct numbers from 0, so that no address is
   * used twice. Returns undefined if the cluster does not support fixed addresses.
   */
  fixedAddress(number: number): string | undefined;
  /** Returns the class to use for the wanted one. Undefined means the cluster's default class. */
  storageClass(diskClass: DiskClass): string | undefined;
  /**
   * Returns one sentence for each violation that the volume driver saw on a volume. Empty if the driver is
   * not the suite's own.
   */
  violations(volume: string): Promise<readonly string[]>;
  /**
   * Returns true if the suite's own volume driver has the snapshot with that handle. Undefined for another
   * driver.
   */
  hasSnapshot(handle: string): Promise<boolean | undefined>;
  /** Empty if the suite may not disturb the nodes (KUBECONFIG). */
  readonly nodes: readonly NodeUnderTest[];
  /** Removes what the suite has on this machine for the cluster. */
  close(): Promise<void>;
}
