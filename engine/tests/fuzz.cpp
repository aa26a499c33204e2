// Mutates launches that were recorded: corpus/*.bin, inputs of `simulate`.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>
#include <string>
extern "C" { void* engine_allocate(std::size_t); void engine_simulate(unsigned char*, std::size_t); const unsigned char* engine_result(); std::size_t engine_result_size(); }
static timespec t0;
extern "C" double client_clock(){ timespec t; clock_gettime(CLOCK_MONOTONIC,&t); return t.tv_sec+1e-9*t.tv_nsec; }
extern "C" void client_progress(unsigned,unsigned){}
int main(int argc,char**argv){
  std::vector<std::string> corpus;
  for(auto&e:std::filesystem::directory_iterator("corpus")){ std::ifstream f(e.path(),std::ios::binary); corpus.emplace_back(std::istreambuf_iterator<char>(f),std::istreambuf_iterator<char>()); }
  std::mt19937 r(atoi(argv[1])); double end=client_clock()+atof(argv[2]); long n=0,refused=0; double worst=0;
  const char* words[]={";","{","}","[","]","%r1","%p1","@%p1 ",".reg .b32 %r<9>;","bra","ret;","add.s32","ld.shared.f32","st.global.f32","0x","-","1","4096","+",",","|","!","bar.sync 0;","mov.b64 {%r1,%r2},%rd1;",".loc 1 2 3","/*","*/","//",".shared .align 4 .b8 x[64];","_"};
  while(client_clock()<end){
    std::string c=corpus[r()%corpus.size()];
    unsigned len; memcpy(&len,c.data(),4);
    std::string ptx=c.substr(4,len), rest=c.substr(4+len);
    int m=1+r()%4;
    for(int i=0;i<m;i++){ if(ptx.empty()) break; size_t at=r()%ptx.size();
      switch(r()%7){ case 0: ptx.erase(at,1+r()%20); break; case 1: ptx.insert(at,words[r()%(sizeof words/sizeof*words)]); break; case 2: ptx[at]=(char)(r()%256); break;
        case 3: { size_t b=r()%ptx.size(); size_t l=std::min<size_t>(1+r()%200,ptx.size()-b); ptx.insert(at,ptx.substr(b,l)); break; }
        case 4: { size_t e=ptx.find('\n',at); if(e!=ptx.npos) ptx.erase(at,e-at+1); break; }
        case 5: { char d[]="0123456789"; for(size_t k=at;k<ptx.size()&&k<at+200;k++) if(ptx[k]>='0'&&ptx[k]<='9'){ ptx[k]=d[r()%10]; break;} break; }
        case 6: ptx.resize(at); break; } }
    unsigned l2=ptx.size(); std::string in((char*)&l2,4); in+=ptx; in+=rest;
    unsigned char* p=(unsigned char*)engine_allocate(in.size()); memcpy(p,in.data(),in.size());
    { std::ofstream f("fuzz_last.bin",std::ios::binary); f.write(in.data(),in.size()); }
    double a=client_clock();
    try { engine_simulate(p,in.size()); } catch(...) { refused++; free(p);}
    worst=std::max(worst,client_clock()-a); n++;
  }
  printf("inputs %ld refused %ld worst %.2f s\n",n,refused,worst);
}
