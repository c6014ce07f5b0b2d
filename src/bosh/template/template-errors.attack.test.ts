import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { createTemplateRenderer, findRuby } from './create-template-renderer.ts';
import type { TemplateContext, TemplateRenderer, TemplateToRender } from './template-renderer.ts';

const password = '}Pr0d-"Passw0rd"';
const properties = {
  web: {
    password,
    pin: 31415926535,
    list: ['deep-Passw0rd'],
    key: 'BEGIN\nline-Passw0rd-1\nline-Passw0rd-2\n',
  },
};
const context: TemplateContext = {
  ...{ index: 0, id: 'id-1', az: 'unknown', bootstrap: true, job: { name: 'web' }, deployment: 'dep' },
  ...{ networks: {}, global_properties: {}, cluster_properties: {}, job_properties: properties },
  default_properties: { 'web.password': null, 'web.pin': null, 'web.list': null, 'web.key': null },
};
const template = (text: string): TemplateToRender => ({ name: 'web/templates/t', template: text, context });

/** Expressions with a secret whose error message quotes it. */
const expressions: Readonly<Record<string, string>> = {
  "Integer(p('web.password'))": 'ArgumentError',
  "Float(p('web.password'))": 'ArgumentError',
  "Rational(p('web.password'))": 'ArgumentError',
  "Complex(p('web.password'))": 'ArgumentError',
  "Integer(p('web.password').reverse)": 'ArgumentError',
  "Array.new(p('web.password').length, 1, p('web.password'))": 'ArgumentError',
  "{}.fetch(p('web.password'))": 'KeyError',
  "{}.fetch(p('web.list'))": 'KeyError',
  "ENV.fetch(p('web.password'))": 'KeyError',
  "[].fetch(p('web.pin'))": 'IndexError|RangeError',
  "[1].first(p('web.pin') * 10 ** 20)": 'RangeError',
  "p('web.password').to_sym.to_proc.call(1)": 'NoMethodError',
  "nil.public_send(p('web.password'))": 'NoMethodError',
  "Object.const_get(p('web.password'))": 'NameError',
  "instance_variable_get(p('web.password'))": 'NameError',
  "Regexp.new(p('web.password') + '(')": 'RegexpError',
  "eval(p('web.password'))": 'SyntaxError',
  "JSON.parse(p('web.password'))": 'JSON::ParserError',
  "YAML.load(p('web.password'))": 'Psych::SyntaxError',
  "File.read(p('web.password'))": 'Errno::ENOENT|NotImplementedError|Errno::E',
  "require p('web.password')": 'LoadError',
  "raise p('web.password')": 'RuntimeError',
  'raise "no: #{p(\'web.password\').inspect}"': 'RuntimeError',
  'raise "no: #{p(\'web.key\').lines[1]}"': 'RuntimeError',
  'raise "no: #{p(\'web.pin\')}"': 'RuntimeError',
  "raise ArgumentError, p('web.password')": 'ArgumentError',
  "fail Class.new(StandardError), p('web.password')": '#<Class',
  "throw p('web.password')": 'UncaughtThrowError',
  "p(p('web.password'))": "Can't find property of a name that the template computes",
  "p(p('web.password').swapcase)": "Can't find property of a name that the template computes",
  "link(p('web.password'))": 'links do not exist',
  "link(p('web.password').swapcase)": 'links do not exist',
  "raise \"user #{p('web.list')[0].split('-').last} unknown\"": 'RuntimeError$',
  'raise "user #{p(\'web.password\').swapcase} unknown"': 'RuntimeError$',
  "raise \"bad #{[p('web.password')].pack('m0')}\"": 'RuntimeError$',
  "nil.public_send(p('web.password').swapcase)": 'NoMethodError$',
  "Gem::Version.new(p('web.password'))": 'ArgumentError',
  "p('web.password').freeze << 'x'": 'FrozenError',
  "'%d' % p('web.password')": 'ArgumentError',
  "abort p('web.password')": 'the template ends the program',
};

function suite(renderer: TemplateRenderer): void {
  for (const [expression, kind] of Object.entries(expressions))
    test(`the error of ${expression} names its kind and line, and not the secret`, async () => {
      await assert.rejects(renderer.render([template(`\n<%= ${expression} %>`)]), (error: Error) => {
        assert.doesNotMatch(error.message, /Passw0rd|dr0wssaP|pASSW0RD|fVByMGQt|31415926535/u);
        assert.match(error.message, new RegExp(`^Cannot render 'web/templates/t'.*: .*(?:${kind})`, 'u'));
        return true;
      });
    });

  test('an error without a value is reported with its cause', async () => {
    for (const [expression, message] of [
      ['"a" + 1', 'TypeError: no implicit conversion of Integer into String'],
      ['Integer(nil)', "TypeError: can't convert nil into Integer"],
      ["raise ArgumentError, 'web.pin must be set'", 'ArgumentError: web.pin must be set'],
      ['raise "set web.password"', 'RuntimeError: set web.password'],
      ['nothing', "NameError: undefined 'nothing'"],
      ['1 / 0', 'ZeroDivisionError: divided by 0'],
      ["p('web.none')", "Can't find property 'web.none'"],
    ])
      await assert.rejects(renderer.render([template(`<%= ${expression} %>`)]), {
        message: `Cannot render 'web/templates/t' (line 1): ${message}`,
      });
  });
}

describe('ruby.wasm', () => {
  const renderer = createTemplateRenderer();
  after(() => renderer.close());
  suite(renderer);
});

const ruby = await findRuby(process.env['PATH']);
describe('native ruby', { skip: ruby === undefined ? 'needs ruby on PATH' : false }, () => {
  const renderer = createTemplateRenderer({ rubyPath: ruby });
  after(() => renderer.close());
  suite(renderer);
});
