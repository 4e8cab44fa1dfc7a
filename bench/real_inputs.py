# SPDX-License-Identifier: Apache-2.0
"""The inputs of bench/real_programs.py: each is one line, which depends on the name of the program, the seed
and its number alone. No two are alike. Text for gzip and sha256sum has no newline but the last, and scripts
need none."""

from __future__ import annotations

import functools
import random
import typing

WORDS_OF_TEXT = 3000
BLOCK = 1 << 20

# Pieces of Lua; each is put together with parameters, and prints a line. `r(n)` gives numbers below n.
LUA = {
    "strings": "local t={{}} for i=1,{a} do "
    "t[#t+1]=string.format('%05d-%s',r(99999),('xyz'):rep(r(4)+1)) end "
    "local s=table.concat(t,',') "
    "print(#s,select(2,s:gsub('9','nine')),s:reverse():upper():sub(3,40),s:find('00',1,true))",
    "words": "local w,k={{}},{{}} for i=1,{a} do "
    "w[#w+1]=({{'ant','bee','cat','dog','eel','fox'}})[r(6)+1]..r({b}) end "
    "local c={{}} for x in table.concat(w,' '):gmatch('%a+%d*') do if not c[x] then k[#k+1]=x end "
    "c[x]=(c[x] or 0)+1 end "
    "table.sort(k,function(x,y) if c[x]~=c[y] then return c[x]>c[y] end return x<y end) "
    "for i=1,math.min(5,#k) do io.write(k[i],'=',c[k[i]],' ') end print(#k)",
    "sort": "local t={{}} for i=1,{a} do t[i]={{key=r(1000),name='n'..r({b})}} end "
    "table.sort(t,function(x,y) if x.key~=y.key then return x.key<y.key end return x.name<y.name end) "
    "print(t[1].key,t[1].name,t[#t//2].key,t[#t].name)",
    "sieve": "local p,n={{}},0 for i=2,{a}*12 do p[i]=true end for i=2,{a}*12 do if p[i] then n=n+1 "
    "for j=i*i,{a}*12,i do p[j]=false end end end print('primes',n)",
    "closures": "local function compose(f,g) return function(x) return g(f(x)) end end local "
    "f=function(x) return x end "
    "for i=1,{b}%40+5 do local k=r(100) f=compose(f,i%2==0 and function(x) return (x*k+1)%9973 end or "
    "function(x) return x~k end) end "
    "local sum=0 for i=1,{a}//4 do sum=(sum+f(i))%1000003 end print('closures',sum)",
    "matrix": "local n={b}%9+12 local function m() local t={{}} for i=1,n do t[i]={{}} for j=1,n do "
    "t[i][j]=r(2000)/8 end end "
    "return t end local x,y,z=m(),m(),0.0 for i=1,n do for j=1,n do local s=0.0 for k=1,n do "
    "s=s+x[i][k]*y[k][j] end "
    "z=z+s/(i+j) end end print(string.format('%.6f',z))",
    "queens": "local n,count={b}%2+6,0 local c,d,e={{}},{{}},{{}} local function put(i) if i>n then "
    "count=count+1 return end "
    "for j=1,n do if not c[j] and not d[i+j] and not e[i-j+n] then c[j],d[i+j],e[i-j+n]=true,true,true "
    "put(i+1) "
    "c[j],d[i+j],e[i-j+n]=nil,nil,nil end end end put(1) print('queens',n,count)",
    "objects": "local A={{}} A.__index=A function A.new(v) return setmetatable({{v=v,links={{}}}},A) end "
    "function A:link(o) self.links[#self.links+1]=o end local t={{}} for i=1,{a}//3 do t[i]=A.new(r(500)) "
    "if i>1 then t[r(i-1)+1]:link(t[i]) end end local function sum(o,depth) local s=o.v*depth "
    "for _,l in ipairs(o.links) do s=s+sum(l,depth+1) end return s end print('objects',sum(t[1],1))",
}

# Pieces of Python, as those of Lua: one expression each, since an input is one line.
PYTHON = {
    "json": "print(len(json.dumps([{{'k':r({b}),'v':[r(99) for _ in range(5)]}} for _ in range({a})])),"
    "sum(d['k'] for d in json.loads(json.dumps([{{'k':r({b})}} for _ in range({a})]))))",
    "words": "print(sorted(collections.Counter(r({b}) for _ in range({a}*4)).items(),"
    "key=lambda p:(-p[1],p[0]))[:5])",
    "regex": "t=' '.join('%05d-%x'%(r(99999),r(4096)) for _ in range({a}));"
    "print(len(re.findall(r'0\\d+-[a-f]',t)),re.sub(r'(\\d)-','-\\\\1',t)[:30])",
    "sieve": "n={a}*20;p=bytearray(n);p[2::2]=p[2::2];"
    "print('primes',sum(all(i%j for j in range(2,int(i**.5)+1)) for i in range(2,n//8)))",
    "strings": "s=''.join(chr(97+r(26)) for _ in range({a}*6));"
    "print(s[::-1][:20],s.count('ab'),s.upper().find('QU'),hash(len(s)))",
    "classes": "P=type('P',(),{{'__init__':lambda s,v:setattr(s,'v',v),'__lt__':lambda s,o:s.v<o.v}});"
    "print([p.v for p in sorted(P(r(1000)) for _ in range({a}))][:6])",
    "numbers": "print(pow(r(9999)+2,{b}*7,10**40+r(99)),sum(1.0/(r(50)+i) for i in range(1,{a})))",
    "generators": "print(sum(x*y%97 for x in range({b}%40+9) for y in range({a}//3) if (x^y)&r(3)))",
}

SQL = (
    "create table item(id integer primary key, kind integer, name text, price real);"
    "create table sale(id integer primary key, item integer, day integer, pieces integer);"
    "with recursive n(i,x) as (select 1,{seed} union all select i+1,(x*1103515245+12345)%2147483648 "
    "from n where i<{items}) "
    "insert into item select "
    "i,x/65536%{kinds},printf('%s-%04d',substr('axlebolthingenutscrew',1+x/256%17,4),x/1024%9999),"
    "(x/4096%9000)/100.0 from n;"
    "with recursive n(i,x) as (select 1,{seed}*7+{lane} union all select "
    "i+1,(x*1103515245+12345)%2147483648 from n "
    "where i<{sales}) insert into sale select i,1+x/65536%{items},x/2048%{days},1+x/8192%9 from n;"
    "create index by_item on sale(item);"
    "select kind,count(*),sum(pieces),round(sum(pieces*price),2) from item join sale on sale.item=item.id "
    "group by kind order by kind;"
)
QUERIES = (
    "select count(*),min(name),max(name) from item where name like '%{pattern}%';",
    "select day,sum(pieces) as p from sale group by day having p>{least} order by p desc,day limit 5;",
    "update item set price=price*1.1 where kind={kind};select round(total(price),2),count(distinct "
    "name) from item;",
    "select name,(select sum(pieces) from sale where sale.item=item.id) as p from item order by p "
    "desc,name limit {few};",
    "delete from sale where day<{kind}*2;select count(*),avg(pieces) from sale;",
    "select group_concat(upper(substr(name,1,2))||length(name),'') from (select name from item order by "
    "price,id limit {few});",
    "select a.kind,count(*) from item a join item b on a.kind=b.kind and a.id<b.id and b.id<{few}*8 "
    "group by a.kind;",
)


@functools.lru_cache(maxsize=1)
def block() -> bytes:
    """A block of text that all inputs of gzip and sha256sum are cut from."""
    generator = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(generator.choices(letters, k=generator.randrange(2, 11))) for _ in range(WORDS_OF_TEXT)]
    pieces, size = [], 0
    while size < BLOCK:
        pieces.append(f"{generator.choice(words)} ")
        if not generator.randrange(9):
            pieces.append(f"{generator.randrange(1_000_000)}; ")
        size += len(pieces[-1])
    return "".join(pieces).encode()


def text(generator: random.Random, number: int, least: int, most: int) -> bytes:
    """A line of `least` to `most` bytes: its number, and pieces of the block from places of its own."""
    size, parts = generator.randrange(least, most), [b"%d " % number]
    left = size - len(parts[0]) - 1
    while left > 0:
        length = min(left, generator.randrange(200, 3000))
        place = generator.randrange(BLOCK - length)
        parts.append(block()[place : place + length])
        left -= length
    return b"".join(parts) + b"\n"


def script(generator: random.Random, number: int) -> bytes:
    names = generator.sample(sorted(LUA), 3)
    pieces = []
    for name in names:
        pieces.append(LUA[name].format(a=generator.randrange(60, 200), b=generator.randrange(20, 200)))
    seed = generator.randrange(1 << 31)
    body = " ".join(f"do {piece} end" for piece in pieces)
    return (
        f"do local s={seed} local function r(n) s=(s*1103515245+12345)%2147483648 return s//65536%n end "
        f"print({number}) {body} end\n"
    ).encode()


def python_script(generator: random.Random, number: int) -> bytes:
    """For an interpreter without site-packages: what it needs it imports."""
    pieces = []
    for name in generator.sample(sorted(PYTHON), 3):
        pieces.append(PYTHON[name].format(a=generator.randrange(40, 120), b=generator.randrange(20, 200)))
    seed = generator.randrange(1 << 31)
    step = "S.append((S.pop()*1103515245+12345)%2147483648)"
    random_numbers = f"S=[{seed}];r=lambda n:({step},S[0]//65536%n)[1]"
    return f"import json,re,collections;{random_numbers};print({number});{';'.join(pieces)}\n".encode()


def queries(generator: random.Random, number: int) -> bytes:
    values = {
        "seed": generator.randrange(1 << 31),
        "lane": number,
        "items": generator.randrange(40, 100),
        "sales": generator.randrange(120, 300),
        "kinds": generator.randrange(3, 9),
        "days": generator.randrange(20, 60),
        "kind": generator.randrange(3),
        "least": generator.randrange(10, 30),
        "few": generator.randrange(3, 9),
        "pattern": generator.choice(("bolt", "-0", "hin", "7", "utsc", "le")),
    }
    chosen = "".join(generator.sample(QUERIES, 4))
    return ((SQL + chosen).format(**values) + "drop table item;drop table sale;\n").encode()


MAKERS: dict[str, typing.Callable[[random.Random, int], bytes]] = {
    "sha256sum": lambda generator, number: text(generator, number, 4 << 10, 32 << 10),
    "gzip": lambda generator, number: text(generator, number, 4 << 10, 16 << 10),
    "lua": script,
    "sqlite": queries,
    "debian-sqlite": queries,
    "debian-python": python_script,
}


def make(program: str, seed: int, number: int) -> bytes:
    """The input with this number."""
    return MAKERS[program](random.Random(f"{program} {seed} {number}"), number)


def make_range(program: str, seed: int, first: int, count: int) -> bytes:
    return b"".join(make(program, seed, number) for number in range(first, first + count))
