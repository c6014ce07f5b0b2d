import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import { scratchDirectory } from '../testing/scratch.ts';
import { createTemplateRenderer, findRuby } from './create-template-renderer.ts';
import type { TemplateContext, TemplateRenderer, TemplateToRender } from './template-renderer.ts';

const context: TemplateContext = {
  index: 0,
  id: 'id-1',
  az: 'unknown',
  bootstrap: true,
  job: { name: 'web' },
  deployment: 'dep',
  address: '10.0.0.5',
  networks: { default: { ip: '', netmask: '', gateway: '' } },
  global_properties: { web: { port: 1, tls: { on: false } }, hidden: 'x' },
  cluster_properties: { web: { name: 'group', tls: { key: 'k' } } },
  job_properties: null,
  default_properties: {
    'web.port': 80,
    'web.name': 'default',
    'web.tls': null,
    'web.none': null,
    'web.list': ['a', { b: 1 }],
    'web.off': false,
  },
};

const template = (text: string, over: Partial<TemplateContext> = {}): TemplateToRender => ({
  name: 'web/templates/x.erb',
  template: text,
  context: { ...context, ...over },
});

/** Runs the same tests for every engine. */
function suite(renderer: TemplateRenderer): void {
  const render = async (text: string, over: Partial<TemplateContext> = {}): Promise<string | undefined> =>
    (await renderer.render([template(text, over)]))[0];
  const fails = async (text: string, message: string): Promise<void> => {
    await assert.rejects(renderer.render([template(text)]), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'TEMPLATE_INVALID');
      assert.equal(error.message, `Cannot render 'web/templates/x.erb'${message}`);
      return true;
    });
  };

  test('properties are those of the group, then the global ones, then the default, and only declared ones', async () => {
    assert.equal(
      await render("<%= p('web.port') %> <%= p('web.name') %> <%= p('web.tls').to_json %>"),
      '1 group {"on":false,"key":"k"}',
    );
    assert.equal(await render("<%= p('hidden', 'not declared') %>"), 'not declared');
    assert.equal(await render("<%= p('web.off') %>"), 'false');
  });

  test("a job's own properties replace all others", async () => {
    const own = { job_properties: { web: { port: 7 } } };
    assert.equal(
      await render("<%= p('web.port') %> <%= p('web.name') %> <%= p('web.tls', nil).inspect %>", own),
      '7 default nil',
    );
    assert.equal(await render("<%= p('web.port') %>", { job_properties: {} }), '80');
    const large = { job_properties: { web: { port: 18_446_744_073_709_551_615n } } };
    assert.equal(await render("<%= p('web.port') - 1 %>", large), '18446744073709551614');
  });

  test('p() accepts several names, a fallback and missing names', async () => {
    assert.equal(
      await render("<%= p(['web.none', 'web.port']) %> <%= p('web.none', 5) %> <%= p(['a', 'b'], 'c') %>"),
      '1 5 c',
    );
    await fails("\n<%= p('web.none') %>", " (line 2): Can't find property 'web.none'");
    await fails("<%= p(['a.b', 'c']) %>", " (line 1): Can't find property 'a.b', or 'c'");
  });

  test('if_p and its else branches work', async () => {
    const text = (names: string): string =>
      `<% if_p(${names}) do |*v| %>yes <%= v.join(',') %><% end.else_if_p('web.port') do |v| %>port <%= v %><% end.else do %>no<% end %>`;
    assert.equal(await render(text("'web.name', 'web.port'")), 'yes group,1');
    assert.equal(await render(text("'web.name', 'web.none'")), 'port 1');
    assert.equal(await render("<% if_p('web.none') do %>yes<% end.else do %>no<% end %>"), 'no');
  });

  test('spec and properties are read with dots', async () => {
    const text =
      '<%= [spec.deployment, spec.address, spec.job.name, spec.index, spec.id, spec.az, spec.bootstrap, name, index].join(" ") %>';
    assert.equal(await render(text), 'dep 10.0.0.5 web 0 id-1 unknown true web 0');
    assert.equal(
      await render('<%= spec.networks.default.ip.inspect %> <%= spec.nothing.inspect %>'),
      '"" nil',
    );
    assert.equal(
      await render(
        '<%= properties.web.tls.key %> <%= properties.web.list[1].b %> <%= properties.none.inspect %>',
      ),
      'k 1 nil',
    );
    assert.equal(
      await render('<%= raw_properties["web"]["port"] %> <%= properties.web.to_h.key?(:port) %>'),
      '1 true',
    );
  });

  test('links are not available', async () => {
    assert.equal(
      await render(
        "<% if_link('db') do |l| %>yes<% end.else do %>no<% end %><%= 'falsy' unless if_link('db') %>",
      ),
      'nofalsy',
    );
    await fails("<%= link('db') %>", " (line 1): links do not exist in create-env, so there is no link 'db'");
    assert.equal(
      await render('<%= [:link, :if_link, :p, :if_p].map { |name| respond_to?(name) } %>'),
      '[false, true, true, true]',
    );
    assert.equal(await render("<%= respond_to?(:link) && link('db') ? 'on' : 'off' %>"), 'off');
  });

  test('a template sees the names that the bosh CLI defines, and no name of the renderer', async () => {
    assert.equal(await render('<%= local_variables.join(",") %>'), '_erbout');
    assert.equal(
      await render(
        '<%= (methods + private_methods - Object.new.methods - Object.new.private_methods).sort.join(" ") %>',
      ),
      'if_link if_p index name properties raw_properties spec',
    );
    for (const name of ['template', 'erb', 'type', 'context', 'answers', 'error', 'look_up'])
      await fails(`\n<%= ${name} %>`, ` (line 2): NameError: undefined '${name}'`);
  });

  test('maps have their keys in the byte order of the bosh CLI', async () => {
    const job_properties = {
      web: { name: { z: 1, a: { y: 1, b: [{ d: 1, c: 2 }] }, '9': 0, '10': 0, é: 1 } },
    };
    assert.equal(
      await render("<%= p('web.name').to_json %>", { job_properties }),
      '{"10":0,"9":0,"a":{"b":[{"c":2,"d":1}],"y":1},"z":1,"é":1}',
    );
    const declared = { default_properties: { 'b.y': 1, a: { z: 1, y: 2 }, 'b.x': 2 }, job_properties: {} };
    assert.equal(
      await render('<%= raw_properties.to_json %>', declared),
      '{"a":{"y":2,"z":1},"b":{"x":2,"y":1}}',
    );
  });

  test('a template may assign a variable with a name of the renderer, and a later error has its line', async () => {
    const names = ['template', 'erb', 'type', 'context', 'error', 'answers', 'name', 'line'];
    assert.equal(
      await render(`<% ${names.map((name) => `${name} = 1`).join('; ')} %><%= template + erb + name %>`),
      '3',
    );
    for (const name of names)
      await fails(`<% ${name} = nil %>\n<% raise "x" %>`, ' (line 2): RuntimeError: x');
  });

  test('the output of a template to stdout is dropped, and a later error has its line', async () => {
    assert.equal(await render('<% STDOUT.puts "noise"; $stdout.print "noise"; STDOUT << "n" %>text'), 'text');
    await fails('<% STDOUT.puts "{}" %>\n<% raise "x" %>', ' (line 2): RuntimeError: x');
    assert.equal(await render('next'), 'next');
  });

  test('a template that ends the interpreter is reported with its line, and the others are rendered', async () => {
    for (const end of ['exit 0', 'exit', 'abort', 'exit! 1', 'Process.exit!', 'Kernel.exit!', 'return'])
      await assert.rejects(
        renderer.render([template(`\n<% ${end} %>`)]),
        {
          code: 'TEMPLATE_INVALID',
          message:
            /^Cannot render 'web\/templates\/x\.erb' \(line 2\): (?:the template ends the program|LocalJumpError)/,
        },
        end,
      );
    assert.equal(await render('next'), 'next');
  });

  test('JSON, YAML and trim mode work as in BOSH', async () => {
    assert.equal(
      await render('<%= JSON.dump("a") %> <%= JSON.dump(1) %> <%= JSON.dump("b" => [1]) %>'),
      '"a" 1 {"b":[1]}',
    );
    assert.equal(await render('<%= { "a" => 1 }.to_yaml %>'), '---\na: 1\n');
    assert.equal(await render('<%- [1, 2].each do |n| -%>\n<%= n %>\n<%- end -%>\nend\n'), '1\n2\nend\n');
    assert.equal(await render('<%= p("web.list").to_json %> ü <%= "\\u00e9".length %>'), '["a",{"b":1}] ü 1');
    assert.equal(await render('<%= Gem::Version.new("1.10") > Gem::Version.new("1.9") %>'), 'true');
  });

  test('maps and empty JSON are written alike by each ruby', async () => {
    assert.equal(
      await render('<%= { "a" => { b: [] }, nil => {} } %> <%= [{ "é" => 1 }].inspect %>'),
      '{"a"=>{:b=>[]}, nil=>{}} [{"é"=>1}]',
    );
    assert.equal(
      await render('<%= JSON.pretty_generate("a" => {}, "b" => [[], 1], "c" => "[\\n] \\"{ }") %>'),
      '{\n  "a": {},\n  "b": [\n    [],\n    1\n  ],\n  "c": "[\\n] \\"{ }"\n}',
    );
  });

  test('the libraries that are ruby gems are available', async () => {
    for (const [library, expression, expected] of [
      // Published templates use it without requiring it.
      ['json', 'IPAddr.new("10.1.2.3").to_s', '10.1.2.3'],
      ['base64', 'Base64.strict_encode64("a")', 'YQ=='],
      ['csv', 'CSV.generate_line(["a", "b,c"])', 'a,"b,c"\n'],
      ['matrix', 'Matrix[[1, 2], [3, 4]].determinant', '-2'],
      ['prime', 'Prime.first(3)', '[2, 3, 5]'],
      ['rexml/document', 'REXML::Document.new("<a><b>x</b></a>").root.elements["b"].text', 'x'],
      ['observer', 'Observable', 'Observable'],
      ['abbrev', 'Abbrev.abbrev(["ab"])["a"]', 'ab'],
      ['getoptlong', 'GetoptLong', 'GetoptLong'],
      ['ipaddr', 'IPAddr.new("10.1.2.3/24").to_range.last', '10.1.2.255'],
      ['ipaddr', 'IPAddr.new("fd00::/8").include?("fd12::1")', 'true'],
      ['ipaddr', 'IPAddr.new("10.1.2.3").inspect', '#<IPAddr: IPv4:10.1.2.3/255.255.255.255>'],
    ])
      assert.equal(await render(`<% require "${library}" %><%= ${expression} %>`), expected, library);
    await assert.rejects(renderer.render([template('\n<% require "no-such-library" %>')]), {
      code: 'TEMPLATE_INVALID',
      message: /\(line 2\): (?:ruby\.wasm|the installed ruby) has no library 'no-such-library'\. Install /,
    });
    assert.equal(
      await render('<%= begin; require "no-such"; rescue LoadError; "without"; end %>'),
      'without',
    );
  });

  test('errors name the line and never quote data', async () => {
    await fails('\n\n<%= nil.foo %>', " (line 3): undefined method 'foo' for nil");
    await fails("a\n<%= 'secret'.foo %>", " (line 2): undefined method 'foo' for an instance of String");
    await fails("<%= JSON.parse('{secret') %>", ' (line 1): JSON::ParserError');
    await fails("<%= YAML.load('{secret') %>", ' (line 1): Psych::SyntaxError');
    await fails('x\n<% raise "boom" %>', ' (line 2): RuntimeError: boom');
    await assert.rejects(renderer.render([template('\n<% if %>')]), {
      code: 'TEMPLATE_INVALID',
      message: /\(line \d\): syntax error/,
    });
  });

  test('all errors of a batch are reported in its order', async () => {
    const batch = [
      template('fine'),
      { ...template('<%= p("a") %>'), name: 'one' },
      { ...template('<%= p("b") %>'), name: 'two' },
    ];
    await assert.rejects(renderer.render(batch), {
      message:
        "Cannot render 'one' (line 1): Can't find property 'a'\nCannot render 'two' (line 1): Can't find property 'b'",
    });
  });

  test('a batch keeps its order, and templates do not see the definitions or output of others', async () => {
    const batch = [
      template('<% def helper; "h"; end %><%= helper %><% puts "noise" %>'),
      template('<%= helper rescue "none" %>'),
      template(''),
    ];
    assert.deepEqual(await renderer.render(batch), ['h', 'none', '']);
    assert.deepEqual(await renderer.render([]), []);
  });
}

describe('ruby.wasm', () => {
  const renderer = createTemplateRenderer();
  after(() => renderer.close());
  suite(renderer);

  test('a missing native library is named with the remedy, also if another library requires it', async () => {
    for (const [required, missing] of [
      ['bigdecimal', 'bigdecimal'],
      ['racc/parser', 'racc/parser'],
      ['socket', 'socket'],
      ['io/console', 'io/console'],
      ['net/http', 'socket'],
      ['resolv', 'socket'],
    ])
      await assert.rejects(
        renderer.render([template(`<% require "ipaddr" %>\n<% require "${required}" %>`)]),
        {
          code: 'TEMPLATE_INVALID',
          message:
            `Cannot render 'web/templates/x.erb' (line 2): ruby.wasm has no library '${missing}'. Install a ruby ` +
            'that has it, or its gem, and put it on PATH: where it can be confined it renders the templates then',
        },
      );
  });
});

const ruby = await findRuby(process.env['PATH']);
describe('native ruby', { skip: ruby === undefined ? 'needs ruby on PATH' : false }, () => {
  const renderer = createTemplateRenderer({ rubyPath: ruby });
  after(() => renderer.close());
  suite(renderer);
  test("the output of a template's child process is dropped too", async () => {
    const text = '<% system("echo noise") %>text <%= `echo taken`.strip %>';
    assert.deepEqual(await renderer.render([template(text), template('next')]), ['text taken', 'next']);
  });
  test('native libraries, and those that need them, are available', async () => {
    const text =
      '<% %w[bigdecimal socket io/console net/http].each { |name| require name } %><%= BigDecimal("1.5").to_s("F") %>';
    assert.deepEqual(await renderer.render([template(text)]), ['1.5']);
  });
  test('random properties have the same text with ruby.wasm', async (t) => {
    const wasm = createTemplateRenderer();
    t.after(() => wasm.close());
    const values = fc.sample(fc.jsonValue(), 40);
    const text = '<%= p("v", nil) %> <%= p("v", nil).inspect %> <%= JSON.pretty_generate(p("v", nil)) %>';
    const batch = values.map((v) =>
      template(text, { job_properties: { v }, default_properties: { v: null } }),
    );
    const texts = await renderer.render(batch);
    assert.equal(renderer.engine, 'ruby');
    const others = await wasm.render(batch);
    for (const [index, one] of texts.entries()) assert.equal(others[index], one);
  });
  test('the requested ruby is used', async () => {
    await renderer.start();
    assert.equal(renderer.engine, 'ruby');
  });
});

test('a ruby that does not work is replaced by ruby.wasm', async (t) => {
  const path = join(await scratchDirectory(t), 'ruby');
  await writeFile(path, '#!/bin/sh\necho no ruby here >&2\nexit 1\n');
  await chmod(path, 0o755);
  for (const rubyPath of [path, join(path, 'missing')]) {
    const renderer = createTemplateRenderer({ rubyPath });
    t.after(() => renderer.close());
    assert.deepEqual(await renderer.render([template('<%= 1 + 1 %>')]), ['2']);
    assert.equal(renderer.engine, 'ruby.wasm');
  }
});

test('a ruby that hangs is named, ended and replaced, although a child process holds its output open', async (t) => {
  const directory = await scratchDirectory(t);
  const rubyPath = join(directory, 'ruby');
  await writeFile(rubyPath, '#!/bin/sh\nsleep 600 &\nwait\n');
  await chmod(rubyPath, 0o755);
  const warnings: string[] = [];
  const renderer = createTemplateRenderer({
    ...{ rubyPath, startTimeoutMs: 1000, warn: (message: string) => void warnings.push(message) },
  });

  assert.deepEqual(await renderer.render([template('<%= 1 + 1 %>')]), ['2']);

  assert.equal(renderer.engine, 'ruby.wasm');
  assert.match(warnings.join(), /ruby' .*was not ready after 1 s.*ruby\.wasm/);
  await renderer.close();
});

test('an endless template is ended', async (t) => {
  const renderer = createTemplateRenderer({ templateTimeoutMs: 1500 });
  t.after(() => renderer.close());
  await renderer.start();
  await assert.rejects(renderer.render([template('<% loop {} %>')]), {
    code: 'RUBY_FAILED',
    message: /^'web\/templates\/x\.erb' was not rendered after 1\.5 s/,
  });
  assert.deepEqual(await renderer.render([template('again')]), ['again']);
});

test('an endless template is ended when the operator interrupts', async (t) => {
  const interrupted = new AbortController();
  const renderer = createTemplateRenderer({ signal: interrupted.signal });
  t.after(() => renderer.close());
  await renderer.start();
  const rendering = renderer.render([template('<% loop {} %>')]);
  interrupted.abort();
  await assert.rejects(rendering, { code: 'INTERRUPTED', message: /web\/templates\/x\.erb/ });
});

test('a start is ended when the operator interrupts', async () => {
  const interrupted = new AbortController();
  const renderer = createTemplateRenderer({ signal: interrupted.signal });
  const started = renderer.start();
  interrupted.abort();
  await assert.rejects(started, { code: 'INTERRUPTED' });
  await renderer.close();
});

test('the event loop is free while ruby starts and renders', async (t) => {
  const renderer = createTemplateRenderer();
  t.after(() => renderer.close());
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 5);
  await renderer.render([template('<%= (1..300_000).sum %>')]);
  clearInterval(timer);
  assert.ok(turns > 5, `${turns} turns`);
});

test('a preloaded engine renders', async (t) => {
  const renderer = createTemplateRenderer();
  t.after(() => renderer.close());
  renderer.preload();
  assert.deepEqual(await renderer.render([template('<%= 1 %>')]), ['1']);
});

test('a second close, or a close before the start, is allowed', async () => {
  const renderer = createTemplateRenderer();
  await renderer.close();
  await renderer.start();
  await renderer.close();
  await renderer.close();
});

test('ruby is found on a PATH', async (t) => {
  const directory = await scratchDirectory(t);
  assert.equal(await findRuby(undefined), undefined);
  assert.equal(await findRuby(directory), undefined);
  await writeFile(join(directory, 'ruby'), '');
  assert.equal(await findRuby(directory), undefined, 'it has to be executable');
  await chmod(join(directory, 'ruby'), 0o755);
  assert.equal(await findRuby(['', '/nowhere', directory].join(delimiter)), join(directory, 'ruby'));
});
