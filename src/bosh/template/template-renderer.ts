/**
 * The `spec` object in templates, and the properties (bosh-cli: templatescompiler/job_evaluation_context.go).
 */
export interface TemplateContext {
  readonly index: number;
  readonly id: string;
  readonly az: string;
  readonly bootstrap: boolean;
  /** `name` is the name of the release job. */
  readonly job: { readonly name: string };
  readonly deployment: string;
  readonly address?: string;
  readonly networks: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly global_properties: Readonly<Record<string, unknown>>;
  readonly cluster_properties: Readonly<Record<string, unknown>>;
  /** If null, global and cluster properties are used. */
  readonly job_properties: Readonly<Record<string, unknown>> | null;
  /** By dotted name; null for a property without a default. */
  readonly default_properties: Readonly<Record<string, unknown>>;
  readonly [other: string]: unknown;
}

export interface TemplateToRender {
  /** The name in errors: `<job>/templates/<file>`. */
  readonly name: string;
  /** ERB text. */
  readonly template: string;
  readonly context: TemplateContext;
  /** The position of its properties in the manifest, for errors. */
  readonly propertiesPosition?: string | undefined;
}

/** Renders ERB with Ruby. */
export interface TemplateRenderer {
  /** The Ruby implementation, for the log. */
  readonly engine: 'ruby' | 'ruby.wasm';
  /** Loads the engine. Without this call the first render does. */
  start(): Promise<void>;
  /** Begins to load the engine and returns immediately. If that fails, the first render throws the error. */
  preload(): void;
  /**
   * Returns the results in the order of the batch. Throws TEMPLATE_INVALID with the job and line of each
   * template that failed.
   */
  render(batch: readonly TemplateToRender[]): Promise<readonly string[]>;
  close(): Promise<void>;
}
