-- SPDX-License-Identifier: Apache-2.0
-- Tables, closures, coroutines, metatables, patterns, integers and errors of Lua.
local Stack = {}
Stack.__index = Stack
function Stack.new() return setmetatable({n = 0}, Stack) end
function Stack:push(v) self.n = self.n + 1; self[self.n] = v end
function Stack:pop() local v = self[self.n]; self[self.n] = nil; self.n = self.n - 1; return v end
local s = Stack.new()
for i = 1, 10 do s:push(i * i) end
print(s:pop(), s:pop(), s.n)
local function numbers(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) end
local sum = 0
for i in numbers(100) do sum = sum + i end
print(sum, 7 // 2, 7 / 2, 2 ^ 53, 1 << 62, math.maxinteger + 1 == math.mininteger, 10 // 0.0, -7 % 3)
print(("key = value; other=x"):gsub("(%w+)%s*=%s*(%w+)", "%2<-%1"))
print(string.format("%q %5.1f %x %s", "a\nb", 2.25, 255, {} ~= nil), #"text", ("x"):rep(5, ","))
print(pcall(error, {code = 7}), select("#", table.unpack({1, 2, 3})), string.pack("<i4", 100):byte(1, -1))
local words = {}
for line in io.lines("text") do words[#words + 1] = line end
table.sort(words, function(a, b) return a > b end)
print(table.concat(words, " "), utf8.char(228, 8364), utf8.len("aä€"))
local memo = setmetatable({}, {__mode = "k", __call = function(_, n) return n * 2 end, __len = function() return 42 end})
print(memo(21), #memo, tostring(nil), tonumber("0x1p4"), tonumber("z", 36), math.type(1), math.type(1.0))
collectgarbage()
local primes, composite = {}, {}
for i = 2, 1000 do
  if not composite[i] then primes[#primes + 1] = i; for k = i * i, 1000, i do composite[k] = true end end
end
print(#primes, primes[#primes])
local ok, message = pcall(function() local x = nil; return x.y end)
print(ok, message)
os.exit(3)
